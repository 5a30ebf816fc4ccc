"""Executes the cases with PyMySQL or mysql-connector-python, in Python or over libmysqlclient; see
../README.md."""

import datetime
import decimal
import hashlib
import json
import os
import sys

BIG = int(os.environ["LIVE_BIG"])
ADDRESS = {"host": os.environ["LIVE_HOST"], "port": int(os.environ["LIVE_PORT"])}
ACCOUNT = {
    "user": os.environ["LIVE_USER"],
    "password": os.environ["LIVE_PASSWORD"],
    "database": os.environ["LIVE_DB"],
}
CA = os.environ.get("LIVE_CA")
VERIFIED = {"ssl_ca": CA, "ssl_verify_cert": True, "ssl_verify_identity": True}


def shown(value):
    """A value with its type, short enough for a line."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        if len(data) > 64:
            return f"bytes {len(data)} {hashlib.sha256(data).hexdigest()}"
        return "bytes " + data.hex()
    if isinstance(value, str) and len(value) > 64:
        return f"str {len(value)} {hashlib.sha256(value.encode()).hexdigest()}"
    if isinstance(value, (set, frozenset)):
        return f"set {sorted(value)!r}"
    if isinstance(value, (decimal.Decimal, datetime.timedelta, datetime.datetime, datetime.date)):
        return f"{type(value).__name__} {value}"
    return repr(value)


def table(rows):
    """Rows as they are, or only their hash when there are many."""
    rows = [[shown(value) for value in row] for row in rows]
    if len(rows) > 40:
        return [len(rows), hashlib.sha256(json.dumps(rows).encode()).hexdigest()]
    return rows


def parameter(value):
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return value


def content(size):
    """The big value: all byte values, not compressible to nothing."""
    block = bytes((i * 7 + i // 251) % 256 for i in range(65521))
    return (block * (size // len(block) + 1))[:size]


class PyMySQL:
    def __init__(self):
        import pymysql

        self.module = pymysql
        self.errors = (pymysql.Error,)

    def connect(self, account, options):
        from pymysql.constants import CLIENT

        flags = CLIENT.MULTI_STATEMENTS | CLIENT.MULTI_RESULTS
        if options.get("found_rows"):
            flags |= CLIENT.FOUND_ROWS
        return self.module.connect(
            **ADDRESS, **account, charset="utf8mb4", autocommit=True, local_infile=True,
            client_flag=flags, max_allowed_packet=1 << 30, **(VERIFIED if CA else {}))

    def failure(self, error):
        # This driver keeps the number and the text, not the SQLSTATE.
        return [type(error).__name__, *map(str, error.args)]

    def sql(self, connection, text, parameters=None):
        results = []
        with connection.cursor() as cursor:
            cursor.execute(text, parameters)
            while True:
                results.append(self.result(cursor))
                if not cursor.nextset():
                    return results

    @staticmethod
    def result(cursor):
        if cursor.description is None:
            return {"affected": cursor.rowcount, "id": cursor.lastrowid,
                    "warnings": cursor.warning_count}
        return {"columns": [[*column] for column in cursor.description],
                "rows": table(cursor.fetchall()), "warnings": cursor.warning_count}

    def prepared(self, connection, text, rows):
        for row in rows:
            yield self.sql(connection, text.replace("?", "%s"), row)

    def batch(self, connection, text, rows):
        with connection.cursor() as cursor:
            return cursor.executemany(text.replace("?", "%s"), rows)

    def cursor(self, connection, text, size):
        with connection.cursor(self.module.cursors.SSCursor) as cursor:
            cursor.execute(text)
            parts = []
            while part := cursor.fetchmany(size):
                parts.append(table(part))
            return parts

    def autocommit(self, connection, on):
        connection.autocommit(on)

    def begin(self, connection):
        connection.begin()

    def reset(self, connection):
        return "this driver cannot"


class Connector:
    def __init__(self, pure=True):
        import mysql.connector

        self.pure = pure
        self.module = mysql.connector
        self.errors = (mysql.connector.Error,)

    def connect(self, account, options):
        from mysql.connector.constants import ClientFlag

        flags = [ClientFlag.MULTI_STATEMENTS, ClientFlag.MULTI_RESULTS, ClientFlag.LOCAL_FILES]
        flags.append(ClientFlag.FOUND_ROWS if options.get("found_rows") else -ClientFlag.FOUND_ROWS)
        return self.module.connect(
            **ADDRESS, **account, charset="utf8mb4", collation="utf8mb4_general_ci",
            autocommit=True, use_pure=self.pure, consume_results=True,
            read_timeout=60, client_flags=flags, allow_local_infile=True,
            compress="LIVE_COMPRESS" in os.environ, **(VERIFIED if CA else {"ssl_disabled": True}))

    def failure(self, error):
        return [type(error).__name__, error.errno, error.sqlstate, str(error)]

    def sql(self, connection, text):
        results = []
        with connection.cursor() as cursor:
            cursor.execute(text, map_results=True)
            while True:
                results.append(self.result(cursor))
                if not cursor.nextset():
                    return results

    @staticmethod
    def result(cursor):
        if cursor.description is None:
            return {"affected": cursor.rowcount, "id": cursor.lastrowid,
                    "warnings": cursor.warning_count}
        rows = table(cursor.fetchall())
        return {"columns": [[*column] for column in cursor.description], "rows": rows,
                "warnings": cursor.warning_count}

    def prepared(self, connection, text, rows):
        with connection.cursor(prepared=True) as cursor:
            for row in rows:
                cursor.execute(text, row)
                yield [self.result(cursor)]

    def batch(self, connection, text, rows):
        with connection.cursor() as cursor:
            cursor.executemany(text.replace("?", "%s"), rows)
            return cursor.rowcount

    def cursor(self, connection, text, size):
        with connection.cursor(buffered=False) as cursor:
            cursor.execute(text)
            parts = []
            while part := cursor.fetchmany(size):
                parts.append(table(part))
            return parts

    def autocommit(self, connection, on):
        connection.autocommit = on

    def begin(self, connection):
        connection.start_transaction()

    def reset(self, connection):
        connection.cmd_reset_connection()
        return "reset"


class Case:
    def __init__(self, driver, case):
        self.driver = driver
        self.options = case.get("options", {})
        self.connection = driver.connect(ACCOUNT, self.options)
        self.second = None

    def step(self, kind, argument, step):
        driver, connection = self.driver, self.connection
        match kind:
            case "sql":
                return driver.sql(connection, argument)
            case "prep":
                rows = [[parameter(value) for value in row] for row in step["rows"]]
                return self.each(driver.prepared(connection, argument, rows))
            case "batch":
                return driver.batch(connection, argument, step["rows"])
            case "cursor":
                return driver.cursor(connection, argument, step["size"])
            case "tx":
                {"begin": driver.begin, "commit": type(connection).commit,
                 "rollback": type(connection).rollback}[argument](connection)
            case "autocommit":
                driver.autocommit(connection, argument)
            case "other":
                self.second = self.second or driver.connect(ACCOUNT, {})
                return driver.sql(self.second, argument)
            case "ping":
                connection.ping()
            case "reset":
                return driver.reset(connection)
            case "connect":
                account = {"user": argument["user"], "password": argument["password"]}
                if argument["db"]:
                    account["database"] = argument["db"]
                driver.connect(account, {}).close()
            case "big":
                return self.big()
            case "infile":
                return self.infile(argument)
            case _:
                raise SystemExit(f"unknown step {kind}")
        return "done"

    def each(self, executions):
        """Executions until one is refused; a refusal ends this step's list."""
        shown_results = []
        try:
            for result in executions:
                shown_results.append(result)
        except self.driver.errors as error:
            shown_results.append(self.driver.failure(error))
        return shown_results

    def big(self):
        value = content(BIG)
        driver, connection = self.driver, self.connection
        inserted = list(driver.prepared(connection, "INSERT INTO big VALUES (1, ?)", [[value]]))
        text = "x'" + content(BIG // 2).hex() + "'"
        return [inserted,
                driver.sql(connection, f"INSERT INTO big VALUES (2, {text})"),
                driver.sql(connection, "SELECT id, LENGTH(v), SHA2(v, 256) FROM big ORDER BY id"),
                driver.sql(connection, "SELECT v FROM big ORDER BY id"),
                list(driver.prepared(connection, "SELECT v FROM big WHERE id = ?", [[1]]))]

    def infile(self, lines):
        path = os.path.join(os.environ["LIVE_TMP"], f"load-{lines}.csv")
        with open(path, "w", encoding="utf-8") as file:
            for i in range(lines):
                file.write(f"{i}\tline {i} ☃😀\n")
        return self.driver.sql(self.connection, f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE loaded")

    def close(self):
        for connection in (self.connection, self.second):
            if connection is not None:
                connection.close()


def main():
    driver = {
        "pymysql": PyMySQL,
        "mysql-connector-python": Connector,
        "libmysqlclient": lambda: Connector(pure=False),
    }[sys.argv[1]]()
    with open(os.environ["LIVE_CASES"], encoding="utf-8") as file:
        cases = json.load(file)
    for case in cases:
        if case.get("flavour", os.environ["LIVE_FLAVOUR"]) != os.environ["LIVE_FLAVOUR"]:
            continue
        running = Case(driver, case)
        for number, step in enumerate(case["steps"]):
            kind, argument = next(iter(step.items()))
            try:
                result = running.step(kind, argument, step)
            except driver.errors as error:
                result = driver.failure(error)
            except (ValueError, TypeError, UnicodeError, AttributeError, IndexError) as error:
                result = ["the driver", type(error).__name__, str(error)]
            print(json.dumps([case["name"], number, kind, result], ensure_ascii=False, default=str))
        running.close()


main()
