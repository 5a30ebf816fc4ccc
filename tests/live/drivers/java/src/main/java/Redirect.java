import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/**
 * Logs in with a connector that goes where the login's OK sends it, says which port it is at, waits
 * for a line, and says what a statement comes to then.
 */
public final class Redirect {
    public static void main(String[] words) throws Exception {
        String url = String.format(
            "jdbc:mariadb://%s:%s/%s?user=%s&password=%s&permitRedirect=true&sslMode=disable",
            System.getenv("LIVE_HOST"), System.getenv("LIVE_PORT"), System.getenv("LIVE_DB"),
            System.getenv("LIVE_USER"), System.getenv("LIVE_PASSWORD"));
        try (Connection connection = DriverManager.getConnection(url)) {
            String host = connection.unwrap(org.mariadb.jdbc.Connection.class).__test_host();
            System.out.println("at " + host);
            new BufferedReader(new InputStreamReader(System.in)).readLine();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT @@port")) {
                rows.next();
                System.out.println("asked " + rows.getInt(1));
            }
        }
    }
}
