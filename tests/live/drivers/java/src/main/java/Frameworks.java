import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.LockModeType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/**
 * Fifty sessions of Hibernate as an application has them, over a pool of connections: its start-up,
 * reads, writes, and transactions that are rolled back. Prints nothing unless an answer is wrong.
 *
 * <p>usage: Frameworks HOST PORT
 */
final class Frameworks {
  private static final int SESSIONS = 50;
  private static final int ROUNDS = 10;

  @Entity(name = "Note")
  @jakarta.persistence.Table(name = "hibernate_note")
  static class Note {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    int owner;

    @Column(length = 50)
    String text;

    Note() {}

    Note(int owner, String text) {
      this.owner = owner;
      this.text = text;
    }
  }

  public static void main(String[] args) throws Exception {
    String url = "jdbc:mysql://" + args[0] + ":" + args[1] + "/test"
        + "?useServerPrepStmts=true&cachePrepStmts=true&useSSL=false&allowPublicKeyRetrieval=true";
    Configuration configuration = new Configuration()
        .addAnnotatedClass(Note.class)
        .setProperty("hibernate.connection.provider_class", "hikari")
        .setProperty("hibernate.connection.url", url)
        .setProperty("hibernate.connection.username", "app")
        .setProperty("hibernate.connection.password", "app")
        .setProperty("hibernate.connection.isolation", "READ_COMMITTED")
        .setProperty("hibernate.connection.autocommit", "false")
        .setProperty("hibernate.hikari.maximumPoolSize", String.valueOf(SESSIONS))
        .setProperty("hibernate.hikari.connectionTimeout", "60000")
        .setProperty("hibernate.hbm2ddl.auto", "update");
    try (SessionFactory sessions = configuration.buildSessionFactory()) {
      List<Callable<Void>> work = new ArrayList<>();
      for (int number = 0; number < SESSIONS; number++) {
        int mine = number;
        work.add(() -> {
          for (int turn = 0; turn < ROUNDS; turn++) {
            round(sessions, mine, turn);
          }
          return null;
        });
      }
      var pool = Executors.newFixedThreadPool(SESSIONS);
      for (Future<Void> one : pool.invokeAll(work)) {
        one.get();
      }
      pool.shutdown();
    }
  }

  private static void round(SessionFactory sessions, int number, int turn) {
    Note note = new Note(number, "turn " + turn);
    sessions.inTransaction(session -> session.persist(note));
    sessions.inSession(session -> {
      var never = session.beginTransaction();
      session.persist(new Note(number, "never"));
      session.flush();
      expect(count(session, number), turn + 2);
      never.rollback();
    });
    sessions.inTransaction(session -> {
      Note found = session.find(Note.class, note.id, LockModeType.PESSIMISTIC_WRITE);
      expect(found.owner, number);
      found.text = "changed";
    });
    sessions.inTransaction(session -> {
      session.setDefaultReadOnly(true);
      expect(count(session, number), turn + 1);
      expect(session.find(Note.class, note.id).text.equals("changed") ? 1 : 0, 1);
    });
  }

  private static long count(org.hibernate.Session session, int owner) {
    return session
        .createSelectionQuery("select count(*) from Note n where n.owner = :owner", Long.class)
        .setParameter("owner", owner)
        .getSingleResult();
  }

  private static void expect(long given, long expected) {
    if (given != expected) {
      throw new IllegalStateException(given + ", not " + expected);
    }
  }
}
