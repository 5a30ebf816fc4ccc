import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Logs in by each of the URLs, and says as whom a server knows the client, or what is refused. */
public final class Login {
    public static void main(String[] urls) {
        for (String url : urls) {
            try (Connection connection = DriverManager.getConnection(url);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT CURRENT_USER()")) {
                rows.next();
                System.out.println(rows.getString(1));
            } catch (SQLException error) {
                System.out.println(error.getErrorCode() + " " + error.getMessage());
            }
        }
    }
}
