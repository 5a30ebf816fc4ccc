// Executes the cases with MySQL Connector/J or MariaDB Connector/J; see ../README.md.

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

public final class Suite {
    private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private final boolean maria;
    private final Driver driver;
    private final Map<String, String> verified;
    private Connection connection;
    private Connection second;

    private Suite(String name) throws Exception {
        maria = name.equals("mariadb-connector-j");
        driver = maria ? new org.mariadb.jdbc.Driver() : new com.mysql.cj.jdbc.Driver();
        verified = verified(env("CA"));
    }

    /** The properties that have a certificate verified; an empty path is for no authority at all. */
    private Map<String, String> verified(String authorities) throws Exception {
        if (authorities == null) return Map.of("sslMode", maria ? "disable" : "DISABLED");
        if (maria && authorities.isEmpty()) return Map.of("sslMode", "verify-full");
        if (maria) return Map.of("sslMode", "verify-full", "serverSslCert", authorities);
        Path store = Path.of(env("TMP"), "truststore.p12");
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream pem = Files.newInputStream(Path.of(authorities))) {
            trusted.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        try (OutputStream file = Files.newOutputStream(store)) {
            trusted.store(file, "changeit".toCharArray());
        }
        return Map.of("sslMode", "VERIFY_IDENTITY", "trustCertificateKeyStoreUrl", store.toUri().toString(),
                "trustCertificateKeyStoreType", "PKCS12", "trustCertificateKeyStorePassword", "changeit");
    }

    private static String env(String name) {
        return System.getenv("LIVE_" + name);
    }

    private Connection connect(String user, String password, String schema, boolean foundRows) throws SQLException {
        Properties options = new Properties();
        options.put("user", user);
        options.put("password", password);
        options.put("allowMultiQueries", "true");
        options.put("allowLocalInfile", "true");
        options.put("useServerPrepStmts", "true");
        options.put("allowPublicKeyRetrieval", "true");
        options.putAll(verified);
        options.put("useAffectedRows", Boolean.toString(!foundRows));
        options.put("useBulkStmts", "true");
        options.put("useCursorFetch", "true");
        options.put("connectionTimeZone", "UTC");
        options.put("timezone", "UTC");
        options.put("maxAllowedPacket", "1073741824");
        options.put("useCompression", Boolean.toString(System.getenv("LIVE_COMPRESS") != null));
        if (!maria) {
            options.remove("useBulkStmts");
            options.remove("timezone");
            options.put("allowLoadLocalInfile", "true");
            options.put("characterEncoding", "UTF-8");
            options.put("rewriteBatchedStatements", "true");
        }
        String scheme = maria ? "jdbc:mariadb://" : "jdbc:mysql://";
        return driver.connect(scheme + env("HOST") + ":" + env("PORT") + "/" + schema, options);
    }

    private Connection connect() throws SQLException {
        return connect(env("USER"), env("PASSWORD"), env("DB"), false);
    }

    private static String sha(byte[] data) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
    }

    private static String shown(ResultSet rows, int column) throws Exception {
        Object value;
        try {
            value = rows.getObject(column);
        } catch (SQLException | RuntimeException error) {
            return "error " + error.getMessage();
        }
        if (value == null) return "null";
        if (value instanceof byte[] data) {
            return "byte[] " + (data.length > 64 ? data.length + " " + sha(data) : HexFormat.of().formatHex(data));
        }
        if (value instanceof java.sql.Blob blob) {
            byte[] data = blob.getBytes(1, (int) blob.length());
            return "Blob " + (data.length > 64 ? data.length + " " + sha(data) : HexFormat.of().formatHex(data));
        }
        String text = value.toString();
        String type = value.getClass().getSimpleName();
        if (text.length() > 64) return type + " " + text.length() + " " + sha(text.getBytes(StandardCharsets.UTF_8));
        return type + " " + text;
    }

    private static Map<String, Object> table(ResultSet rows) throws Exception {
        ResultSetMetaData meta = rows.getMetaData();
        List<Object> columns = new ArrayList<>();
        for (int i = 1; i <= meta.getColumnCount(); i++) {
            columns.add(List.of(meta.getColumnLabel(i), meta.getColumnTypeName(i), meta.getPrecision(i), meta.getScale(i),
                    meta.isNullable(i), meta.isSigned(i), meta.isAutoIncrement(i), meta.getTableName(i)));
        }
        List<Object> list = new ArrayList<>();
        while (rows.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= meta.getColumnCount(); i++) row.add(shown(rows, i));
            list.add(row);
        }
        Object given = list.size() > 40 ? List.of(list.size(), sha(GSON.toJson(list).getBytes(StandardCharsets.UTF_8))) : list;
        return new TreeMap<>(Map.of("columns", columns, "rows", given));
    }

    private static List<Object> warnings(Statement statement) throws SQLException {
        List<Object> list = new ArrayList<>();
        for (SQLWarning w = statement.getWarnings(); w != null; w = w.getNextWarning()) {
            list.add(List.of(w.getErrorCode(), String.valueOf(w.getSQLState()), String.valueOf(w.getMessage())));
        }
        return list;
    }

    private static List<Object> results(Statement statement, boolean rows) throws Exception {
        List<Object> list = new ArrayList<>();
        boolean more = rows;
        while (true) {
            if (more) {
                try (ResultSet set = statement.getResultSet()) {
                    list.add(table(set));
                }
            } else {
                long count = statement.getLargeUpdateCount();
                if (count == -1) break;
                list.add(new TreeMap<>(Map.of("affected", count, "keys", keys(statement))));
            }
            try {
                more = statement.getMoreResults();
            } catch (SQLException error) {
                list.add(failure(error));
                break;
            }
        }
        list.add(warnings(statement));
        return list;
    }

    private static List<Object> keys(Statement statement) {
        List<Object> list = new ArrayList<>();
        try (ResultSet keys = statement.getGeneratedKeys()) {
            while (keys.next()) list.add(keys.getString(1));
        } catch (SQLException error) {
            // no keys were asked for
        }
        return list;
    }

    private static List<Object> failure(SQLException error) {
        // Connector/J puts the time of the last packet in some texts.
        String text = String.valueOf(error.getMessage()).replaceAll("\\([^)]*conn=\\d+\\) ", "").replaceAll("\\d+ milliseconds", "N ms");
        return Arrays.asList(error.getClass().getSimpleName(), error.getErrorCode(), error.getSQLState(), text);
    }

    private List<Object> text(Connection on, String text) throws Exception {
        try (Statement statement = on.createStatement()) {
            statement.setEscapeProcessing(false);
            return results(statement, statement.execute(text, Statement.RETURN_GENERATED_KEYS));
        }
    }

    private static void bind(PreparedStatement statement, JsonArray row) throws SQLException {
        for (int i = 0; i < row.size(); i++) {
            JsonElement value = row.get(i);
            if (value.isJsonNull()) statement.setNull(i + 1, java.sql.Types.NULL);
            else if (value.isJsonObject()) {
                statement.setBytes(i + 1, HexFormat.of().parseHex(value.getAsJsonObject().get("hex").getAsString()));
            } else if (value.getAsJsonPrimitive().isString()) statement.setString(i + 1, value.getAsString());
            else if (value.getAsString().matches("-?\\d+")) statement.setLong(i + 1, value.getAsLong());
            else statement.setDouble(i + 1, value.getAsDouble());
        }
    }

    private List<Object> prepared(String text, JsonArray rows) throws Exception {
        List<Object> list = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (JsonElement row : rows) {
                bind(statement, row.getAsJsonArray());
                list.add(results(statement, statement.execute()));
            }
        } catch (SQLException error) {
            list.add(failure(error));
        }
        return list;
    }

    private Object batch(String text, JsonArray rows) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (JsonElement row : rows) {
                bind(statement, row.getAsJsonArray());
                statement.addBatch();
            }
            return statement.executeBatch();
        }
    }

    private Object cursor(String text, int size) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setFetchSize(size);
            try (ResultSet rows = statement.executeQuery()) {
                return table(rows);
            }
        }
    }

    private static byte[] content(int size) {
        byte[] all = new byte[size];
        for (int i = 0; i < size; i++) {
            int j = i % 65521;
            all[i] = (byte) ((j * 7 + j / 251) % 256);
        }
        return all;
    }

    private Object big() throws Exception {
        int size = Integer.parseInt(env("BIG"));
        List<Object> list = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO big VALUES (1, ?)")) {
            statement.setBytes(1, content(size));
            list.add(statement.executeUpdate());
        }
        list.add(text(connection, "INSERT INTO big VALUES (2, x'" + HexFormat.of().formatHex(content(size / 2)) + "')"));
        list.add(text(connection, "SELECT id, LENGTH(v), SHA2(v, 256) FROM big ORDER BY id"));
        list.add(text(connection, "SELECT v FROM big ORDER BY id"));
        JsonArray one = new JsonArray();
        one.add(1);
        JsonArray rows = new JsonArray();
        rows.add(one);
        list.add(prepared("SELECT v FROM big WHERE id = ?", rows));
        return list;
    }

    private Object infile(int lines) throws Exception {
        Path file = Path.of(env("TMP"), "load-" + lines + ".csv");
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < lines; i++) text.append(i).append("\tline ").append(i).append(" ☃😀\n");
        Files.writeString(file, text);
        return text(connection, "LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE loaded");
    }

    private void transaction(String what) throws SQLException {
        switch (what) {
            case "begin" -> connection.setAutoCommit(false);
            case "commit" -> connection.commit();
            default -> connection.rollback();
        }
        if (!what.equals("begin") && begun) connection.setAutoCommit(true);
        begun = what.equals("begin");
    }

    private boolean begun;

    private Object step(String kind, JsonObject step) throws Exception {
        JsonElement argument = step.get(kind);
        switch (kind) {
            case "sql": return text(connection, argument.getAsString());
            case "prep": return prepared(argument.getAsString(), step.getAsJsonArray("rows"));
            case "batch": return batch(argument.getAsString(), step.getAsJsonArray("rows"));
            case "cursor": return cursor(argument.getAsString(), step.get("size").getAsInt());
            case "tx": transaction(argument.getAsString()); return "done";
            case "autocommit": connection.setAutoCommit(argument.getAsBoolean()); return "done";
            case "other":
                if (second == null) second = connect();
                return text(second, argument.getAsString());
            case "ping": return connection.isValid(10);
            case "reset":
                if (maria) return "this driver cannot";
                ((com.mysql.cj.jdbc.JdbcConnection) connection).resetServerState();
                return "reset";
            case "connect": {
                JsonObject as = argument.getAsJsonObject();
                connect(as.get("user").getAsString(), as.get("password").getAsString(), as.get("db").getAsString(), false).close();
                return "done";
            }
            case "big": return big();
            case "infile": return infile(argument.getAsInt());
            default: throw new IllegalStateException("unknown step " + kind);
        }
    }

    private void run(JsonObject entry, PrintWriter out) throws Exception {
        boolean foundRows = entry.has("options") && entry.getAsJsonObject("options").has("found_rows");
        connection = connect(env("USER"), env("PASSWORD"), env("DB"), foundRows);
        second = null;
        begun = false;
        int number = 0;
        for (JsonElement element : entry.getAsJsonArray("steps")) {
            JsonObject step = element.getAsJsonObject();
            String kind = step.keySet().iterator().next();
            Object result;
            try {
                result = step(kind, step);
            } catch (SQLException error) {
                result = failure(error);
            } catch (RuntimeException error) {
                result = List.of("the driver", error.toString());
            }
            out.println(GSON.toJson(Arrays.asList(entry.get("name").getAsString(), number++, kind, result)));
        }
        out.flush();
        connection.close();
        if (second != null) second.close();
    }

    public static void main(String[] arguments) throws Exception {
        Suite suite = new Suite(arguments[0]);
        PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        String cases = Files.readString(Path.of(env("CASES")));
        for (JsonElement entry : GSON.fromJson(cases, JsonArray.class)) {
            JsonObject object = entry.getAsJsonObject();
            if (object.has("flavour") && !object.get("flavour").getAsString().equals(env("FLAVOUR"))) continue;
            suite.run(object, out);
        }
    }
}
