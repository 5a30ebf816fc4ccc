"""Logs in with libmariadb, changes the user as often as there are further names, and prints the
name that the server tells each time, or the error. Arguments: port, names; the names are the
passwords too."""

import ctypes
import sys

lib = ctypes.CDLL("libmariadb.so.3")
for name in ("mysql_init", "mysql_real_connect", "mysql_store_result"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.mysql_fetch_row.restype = ctypes.POINTER(ctypes.c_char_p)
lib.mysql_error.restype = ctypes.c_char_p


def told(link):
    lib.mysql_query(link, b"SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), DATABASE()")
    result = ctypes.c_void_p(lib.mysql_store_result(link))
    row = lib.mysql_fetch_row(result)
    print(row[0].decode(), (row[1] or b"-").decode())
    lib.mysql_free_result(result)


def error(link):
    print(lib.mysql_errno(link), lib.mysql_error(link).decode())
    sys.exit()


port, first, *others = sys.argv[1:]
link = ctypes.c_void_p(lib.mysql_init(None))
user, none = first.encode(), ctypes.c_ulong(0)
if not lib.mysql_real_connect(link, b"127.0.0.1", user, user, b"test", int(port), None, none):
    error(link)
told(link)
for user in map(str.encode, others):
    if lib.mysql_change_user(link, user, user, b"test"):
        error(link)
    told(link)
