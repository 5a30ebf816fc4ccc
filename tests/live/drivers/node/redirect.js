// Logs in with a connector that goes where the login's OK sends it, says which port it is at, waits
// for a line, and says what a statement comes to then.
'use strict';

const mariadb = require('mariadb');
const readline = require('node:readline');

async function main() {
  const connection = await mariadb.createConnection({
    host: process.env.LIVE_HOST,
    port: Number(process.env.LIVE_PORT),
    user: process.env.LIVE_USER,
    password: process.env.LIVE_PASSWORD,
    database: process.env.LIVE_DB,
    permitRedirect: true,
    connectTimeout: 10000,
  });
  console.log(`at ${connection.info.port ?? ''}`);
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    const rows = await connection.query('SELECT @@port AS port');
    console.log(`asked ${rows[0].port}`);
    break;
  }
  await connection.end();
}

main().then(() => process.exit(0), (error) => {
  console.log(`failed ${error.message}`);
  process.exit(1);
});
