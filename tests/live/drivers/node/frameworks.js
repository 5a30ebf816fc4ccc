// Fifty sessions of Sequelize as an application has them: its start-up, reads, writes, and
// transactions that are rolled back. Prints nothing unless an answer is wrong.
//
// usage: frameworks.js HOST PORT
"use strict";

const { Sequelize, DataTypes } = require("sequelize");

const SESSIONS = 50;
const ROUNDS = 10;

const [host, port] = process.argv.slice(2);
const sequelize = new Sequelize("test", "app", "app", {
  dialect: "mysql",
  host,
  port: Number(port),
  logging: false,
  timezone: "+01:00",
  isolationLevel: "READ COMMITTED",
  pool: { max: SESSIONS, min: SESSIONS, acquire: 60000 },
  dialectOptions: { charset: "utf8mb4" },
});

const Note = sequelize.define(
  "note",
  { owner: DataTypes.INTEGER, text: DataTypes.STRING(50) },
  { tableName: "sequelize_note" },
);

function expect(what, given, expected) {
  if (given !== expected) throw new Error(`${what}: ${given}, not ${expected}`);
}

async function session(number) {
  for (let turn = 0; turn < ROUNDS; turn++) {
    const note = await Note.create({ owner: number, text: `turn ${turn}` });
    expect("owner", (await Note.findByPk(note.id)).owner, number);
    const rolledBack = sequelize.transaction(async (transaction) => {
      await Note.create({ owner: number, text: "never" }, { transaction });
      expect("inside", await Note.count({ where: { owner: number }, transaction }), turn + 2);
      throw new Error("never");
    });
    await rolledBack.catch((error) => expect("rolled back", error.message, "never"));
    await sequelize.transaction(async (transaction) => {
      const locked = await Note.findByPk(note.id, { transaction, lock: true });
      await locked.update({ text: "changed" }, { transaction });
    });
    expect("notes", await Note.count({ where: { owner: number, text: "changed" } }), turn + 1);
    const [[row]] = await sequelize.query("SELECT @@time_zone AS zone");
    expect("time zone", row.zone, "+01:00");
  }
}

async function main() {
  await sequelize.authenticate();
  await sequelize.sync({ force: true });
  await Promise.all(Array.from({ length: SESSIONS }, (_, number) => session(number)));
  await sequelize.close();
}

main().catch((error) => {
  console.log(error.stack || String(error));
  process.exit(1);
});
