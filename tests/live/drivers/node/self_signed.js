// Checks a certificate that no authority vouches for by what the login tells of it:
// node self_signed.js HOST PORT [TEXT THAT SELECTS x] [USER, WHOSE NAME IS THE PASSWORD]
const mariadb = require('mariadb')

async function main() {
  const [host, port, text, user = 'app'] = process.argv.slice(2)
  const options = { host, port: Number(port), user, password: user, ssl: true }
  const connection = await mariadb.createConnection(options)
  const rows = await connection.query(text || "SELECT REPEAT('x', 100000) AS x")
  console.log(`${rows[0].x.length} over TLS`)
  await connection.end()
}

main().catch((error) => {
  console.log(`refused: ${error.message}`)
  process.exitCode = 1
})
