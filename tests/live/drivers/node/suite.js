// Executes the cases with mysql2; see ../README.md.
"use strict";

const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const mysql = require("mysql2/promise");

const env = process.env;
// without verifyIdentity, a certificate for any name will do
const ssl = env.LIVE_CA
  ? { ca: fs.readFileSync(env.LIVE_CA), rejectUnauthorized: true, verifyIdentity: true }
  : undefined;
const account = { user: env.LIVE_USER, password: env.LIVE_PASSWORD, database: env.LIVE_DB };

function sha(data) {
  return crypto.createHash("sha256").update(data).digest("hex");
}

function shown(value) {
  if (value === null || value === undefined) return "null";
  if (Buffer.isBuffer(value)) {
    return value.length > 64 ? `Buffer ${value.length} ${sha(value)}` : "Buffer " + value.toString("hex");
  }
  if (value instanceof Date) return "Date " + (isNaN(value) ? "invalid" : value.toISOString());
  if (typeof value === "string" && value.length > 64) return `string ${value.length} ${sha(value)}`;
  if (typeof value === "bigint") return `bigint ${value}`;
  return `${typeof value} ${JSON.stringify(value)}`;
}

function table(rows) {
  const list = rows.map((row) => row.map(shown));
  return list.length > 40 ? [list.length, sha(JSON.stringify(list))] : list;
}

function header(value) {
  return {
    affected: value.affectedRows, id: String(value.insertId), info: value.info,
    status: value.serverStatus & ~0x4000, warnings: value.warningStatus, changed: value.changedRows,
  };
}

const described = (field) =>
  [field.name, field.columnType, field.columnLength, field.characterSet, field.flags, field.orgTable];

// One result or several: mysql2 gives nested arrays for several.
function results([value, fields]) {
  const several = Array.isArray(fields) && fields.some((f) => f === undefined || Array.isArray(f));
  const list = several ? value.map((v, i) => [v, fields[i]]) : [[value, fields]];
  return list.map(([v, f]) =>
    f === undefined ? header(v) : { columns: f.map(described), rows: table(v) });
}

function failure(error) {
  return ["error", error.code, error.errno, error.sqlState, error.sqlMessage || error.message];
}

function parameter(value) {
  return value !== null && typeof value === "object" && "hex" in value ? Buffer.from(value.hex, "hex") : value;
}

function content(size) {
  const block = Buffer.from(Array.from({ length: 65521 }, (_, i) => (i * 7 + Math.floor(i / 251)) % 256));
  return Buffer.alloc(size, block);
}

function connect(as, options) {
  return mysql.createConnection({
    host: env.LIVE_HOST, port: Number(env.LIVE_PORT), ...as, multipleStatements: true,
    rowsAsArray: true, supportBigNumbers: true, bigNumberStrings: true, timezone: "Z",
    charset: "utf8mb4_general_ci", connectTimeout: 20000, compress: "LIVE_COMPRESS" in env, ssl,
    flags: options.found_rows ? ["FOUND_ROWS"] : ["-FOUND_ROWS"],
    infileStreamFactory: (file) => fs.createReadStream(file),
  });
}

class Case {
  async open(entry) {
    this.options = entry.options || {};
    this.connection = await connect(account, this.options);
    this.second = null;
    return this;
  }

  async step(kind, argument, step) {
    const connection = this.connection;
    switch (kind) {
      case "sql": return results(await connection.query(argument));
      case "prep": return this.prepared(argument, step.rows);
      case "batch": {
        const values = step.rows.map((row) => row.map(parameter));
        return results(await connection.query(argument.replace(/\(\?.*\)/, "?"), [values]));
      }
      case "cursor": {
        const rows = [];
        for await (const row of connection.connection.query(argument).stream({ highWaterMark: step.size })) {
          rows.push(row);
        }
        return table(rows);
      }
      case "tx":
        await { begin: () => connection.beginTransaction(), commit: () => connection.commit(),
          rollback: () => connection.rollback() }[argument]();
        return "done";
      case "autocommit":
        return results(await connection.query(`SET autocommit = ${argument ? 1 : 0}`));
      case "other":
        this.second = this.second || await connect(account, {});
        return results(await this.second.query(argument));
      case "ping": await connection.ping(); return "done";
      case "reset": await connection.changeUser(account); return "done";
      case "connect": {
        const as = { user: argument.user, password: argument.password, database: argument.db || undefined };
        await (await connect(as, {})).end();
        return "done";
      }
      case "big": return this.big();
      case "infile": return this.infile(argument);
      default: throw new Error(`unknown step ${kind}`);
    }
  }

  async prepared(text, rows) {
    const list = [];
    try {
      for (const row of rows) list.push(results(await this.connection.execute(text, row.map(parameter))));
    } catch (error) {
      list.push(failure(error));
    }
    return list;
  }

  async big() {
    const size = Number(env.LIVE_BIG);
    const text = content(Math.floor(size / 2)).toString("hex");
    return [
      await this.prepared("INSERT INTO big VALUES (1, ?)", [[content(size)]]),
      results(await this.connection.query(`INSERT INTO big VALUES (2, x'${text}')`)),
      results(await this.connection.query("SELECT id, LENGTH(v), SHA2(v, 256) FROM big ORDER BY id")),
      results(await this.connection.query("SELECT v FROM big ORDER BY id")),
      await this.prepared("SELECT v FROM big WHERE id = ?", [[1]]),
    ];
  }

  async infile(lines) {
    const file = path.join(env.LIVE_TMP, `load-${lines}.csv`);
    let text = "";
    for (let i = 0; i < lines; i++) text += `${i}\tline ${i} ☃😀\n`;
    fs.writeFileSync(file, text);
    return results(await this.connection.query(`LOAD DATA LOCAL INFILE '${file}' INTO TABLE loaded`));
  }

  async close() {
    for (const connection of [this.connection, this.second]) if (connection) await connection.end().catch(() => {});
  }
}

async function main() {
  for (const entry of JSON.parse(fs.readFileSync(env.LIVE_CASES, "utf8"))) {
    if (entry.flavour && entry.flavour !== env.LIVE_FLAVOUR) continue;
    const running = await new Case().open(entry);
    for (const [number, step] of entry.steps.entries()) {
      const [kind, argument] = Object.entries(step)[0];
      let result;
      try {
        result = await running.step(kind, argument, step);
      } catch (error) {
        result = failure(error);
      }
      console.log(JSON.stringify([entry.name, number, kind, result]));
    }
    await running.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
