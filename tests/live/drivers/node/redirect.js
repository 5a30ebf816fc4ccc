// Logs in with a connector that goes where the login's OK sends it, and says where it is then.
'use strict';

const mariadb = require('mariadb');

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
  console.log(`at ${process.env.LIVE_HOST}:${connection.info.port}`);
}

main().then(() => process.exit(0), (error) => {
  console.log(`failed ${error.message}`);
  process.exit(1);
});
