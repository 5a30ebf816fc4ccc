"""Fifty sessions of a framework as an application has them: its start-up, reads, writes, and
transactions that are rolled back. Prints nothing unless an answer is wrong.

usage: frameworks.py sqlalchemy|django HOST PORT
"""

import sys
import threading

SESSIONS = 50
ROUNDS = 10


def in_sessions(work):
    failures = []
    together = threading.Barrier(SESSIONS)

    def session(number):
        try:
            together.wait()
            for turn in range(ROUNDS):
                work(number, turn)
        except Exception as error:
            failures.append(f"session {number}: {error!r}")

    threads = [threading.Thread(target=session, args=(n,)) for n in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def with_sqlalchemy(host, port):
    from sqlalchemy import String, create_engine, func, select, text
    from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

    class Base(DeclarativeBase):
        pass

    class Note(Base):
        __tablename__ = "alchemy_note"
        id: Mapped[int] = mapped_column(primary_key=True)
        owner: Mapped[int]
        text: Mapped[str] = mapped_column(String(50))

    url = f"mysql+pymysql://app:app@{host}:{port}/test?charset=utf8mb4"
    engine = create_engine(
        url, pool_size=SESSIONS, isolation_level="READ COMMITTED", pool_pre_ping=True
    )
    Base.metadata.create_all(engine)

    def work(number, turn):
        with Session(engine) as session:
            session.add(Note(owner=number, text=f"turn {turn}"))
            session.commit()
            session.add(Note(owner=number, text="never"))
            session.flush()
            session.rollback()
            mine = select(func.count()).select_from(Note).where(Note.owner == number)
            assert session.scalar(mine) == turn + 1, "notes are lost, or too many"
            assert session.scalar(text("SELECT @@autocommit")) == 0, "autocommit"
            session.rollback()

    return in_sessions(work)


def with_django(host, port):
    import pymysql

    pymysql.version_info = (2, 2, 1, "final", 0)
    pymysql.install_as_MySQLdb()
    import django
    from django.conf import settings

    settings.configure(
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.mysql",
                "HOST": host,
                "PORT": port,
                "USER": "app",
                "PASSWORD": "app",
                "NAME": "test",
                "CONN_MAX_AGE": 600,
                "OPTIONS": {
                    "isolation_level": "read committed",
                    "init_command": "SET sql_mode='STRICT_TRANS_TABLES', innodb_lock_wait_timeout=9",
                },
            }
        },
        INSTALLED_APPS=[],
        USE_TZ=True,
    )
    django.setup()
    from django.db import connection, models, transaction

    class Note(models.Model):
        owner = models.IntegerField()
        text = models.CharField(max_length=50)

        class Meta:
            app_label = "live"

    with connection.schema_editor() as editor:
        editor.create_model(Note)

    class Never(Exception):
        pass

    def work(number, turn):
        note = Note.objects.create(owner=number, text=f"turn {turn}")
        assert Note.objects.get(pk=note.pk).owner == number, "somebody else's note"
        try:
            with transaction.atomic():
                Note.objects.create(owner=number, text="never")
                raise Never
        except Never:
            pass
        with transaction.atomic():
            Note.objects.select_for_update().filter(pk=note.pk).update(text="changed")
        assert Note.objects.filter(owner=number).count() == turn + 1, "notes are lost, or too many"
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@sql_mode")
            assert cursor.fetchone() == ("STRICT_TRANS_TABLES",), "sql_mode"
        if turn + 1 == ROUNDS:
            connection.close()

    return in_sessions(work)


failures = {"sqlalchemy": with_sqlalchemy, "django": with_django}[sys.argv[1]](*sys.argv[2:])
print("\n".join(failures))
sys.exit(bool(failures))
