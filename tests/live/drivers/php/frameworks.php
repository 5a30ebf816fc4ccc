<?php
// Fifty sessions of a framework as an application has them: its start-up, reads, writes, and
// transactions that are rolled back in part or as a whole. Prints nothing unless an answer is
// wrong. Each session is a process, as it is behind a web server.
//
// With LIVE_CA, over TLS and with the server's certificate verified by the authorities in that file.
//
// usage: frameworks.php laravel|doctrine native|emulated HOST PORT

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\ParameterType;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;

const SESSIONS = 50;
const ROUNDS = 10;

[, $framework, $prepares, $host, $port] = $argv;
$native = $prepares === 'native';
error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);

if (getenv('LIVE_CA')) {
    // why a certificate is refused is a warning that libraries keep to themselves
    set_error_handler(function (int $level, string $text): bool {
        fwrite(STDERR, "$text\n");
        return false;
    }, E_WARNING);
}

class GivenUp extends Exception
{
}

function expect(string $what, mixed $given, mixed $expected): void
{
    if ($given !== $expected) {
        throw new Exception("$what: " . var_export($given, true) . ', not ' . var_export($expected, true));
    }
}

/** The options of PDO by which a certificate is verified. */
function pdo_verified(): array
{
    $authorities = getenv('LIVE_CA');
    return $authorities
        ? [PDO::MYSQL_ATTR_SSL_CA => $authorities, PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => true]
        : [];
}

/** Those of mysqli, beside its file of authorities: it verifies unless it is told not to. */
function mysqli_verified(): array
{
    return getenv('LIVE_CA') ? ['flags' => MYSQLI_CLIENT_SSL] : [];
}

/** Runs a transaction that its work gives up. */
function rolled_back(callable $transaction): void
{
    try {
        $transaction(fn () => throw new GivenUp());
    } catch (GivenUp) {
    }
}

function with_laravel(string $host, string $port, bool $native): callable
{
    require 'Illuminate/Database/autoload.php';

    class_alias(get_class(new class extends Model {
        protected $table = 'laravel_note';
        protected $guarded = [];
    }), 'Note');

    $manager = new Manager();
    $manager->addConnection([
        'driver' => 'mysql',
        'host' => $host,
        'port' => $port,
        'database' => 'test',
        'username' => 'app',
        'password' => 'app',
        'charset' => 'utf8mb4',
        'collation' => 'utf8mb4_unicode_ci',
        'timezone' => '+01:00',
        'isolation_level' => 'READ COMMITTED',
        'strict' => true,
        'options' => [PDO::ATTR_EMULATE_PREPARES => !$native] + pdo_verified(),
    ]);
    $manager->setAsGlobal();
    $manager->bootEloquent();
    $schema = Manager::schema();
    $schema->dropIfExists('laravel_note');
    $schema->create('laravel_note', function ($table) {
        $table->id();
        $table->integer('owner')->index();
        $table->string('text', 50)->nullable();
        $table->timestamps();
    });
    expect('the table', $schema->hasTable('laravel_note'), true);
    // it asks for no order
    $columns = $schema->getColumnListing('laravel_note');
    sort($columns);
    expect('its columns', $columns, ['created_at', 'id', 'owner', 'text', 'updated_at']);
    Manager::connection()->disconnect();

    return function (int $number, int $turn) {
        $note = Note::create(['owner' => $number, 'text' => "turn $turn – ß"]);
        expect('owner', (int) Note::findOrFail($note->id)->owner, $number);
        rolled_back(fn ($never) => Manager::connection()->transaction(function () use ($number, $turn, $never) {
            Note::create(['owner' => $number, 'text' => 'never']);
            rolled_back(fn ($never) => Manager::connection()->transaction(function () use ($number, $never) {
                Note::create(['owner' => $number, 'text' => 'never']);
                $never();
            }));
            expect('inside', Note::where('owner', $number)->count(), $turn + 2);
            $never();
        }));
        Manager::connection()->transaction(function () use ($note) {
            Note::lockForUpdate()->findOrFail($note->id)->update(['text' => 'changed']);
        });
        expect('notes', Note::where(['owner' => $number, 'text' => 'changed'])->count(), $turn + 1);
        $affected = Manager::table('laravel_note')->where('owner', $number)->update(['text' => null]);
        expect('changed', $affected, $turn + 1);
        expect('changed back', Note::where('owner', $number)->update(['text' => 'changed']), $turn + 1);
        $row = Manager::selectOne(
            'SELECT @@time_zone zone, @@collation_connection collation, ' .
            "@@sql_mode LIKE '%STRICT_TRANS_TABLES%NO_ZERO_DATE%' strict"
        );
        expect('settings', [$row->zone, $row->collation, (int) $row->strict], ['+01:00', 'utf8mb4_unicode_ci', 1]);
        try {
            Manager::insert('INSERT INTO laravel_note (owner) VALUES (?)', ['no number']);
            throw new Exception('sql_mode is not strict');
        } catch (PDOException $refused) {
            expect('refused', $refused->errorInfo[1], 1366);
        }
    };
}

function with_doctrine(string $host, string $port, bool $native): callable
{
    require 'Doctrine/DBAL/autoload.php';

    $settings = "SET sql_mode='STRICT_TRANS_TABLES,NO_ZERO_DATE', time_zone='-03:00', SESSION wait_timeout=600";
    $parameters = [
        // mysqli prepares on the server, PDO puts values into the text
        'driver' => $native ? 'mysqli' : 'pdo_mysql',
        'host' => $host,
        'port' => (int) $port,
        'dbname' => 'test',
        'user' => 'app',
        'password' => 'app',
        'charset' => 'utf8mb4',
        'driverOptions' => $native
            ? [MYSQLI_INIT_COMMAND => $settings] + mysqli_verified()
            : [PDO::MYSQL_ATTR_INIT_COMMAND => $settings] + pdo_verified(),
    ];
    if (getenv('LIVE_CA')) {
        $parameters['ssl_ca'] = getenv('LIVE_CA');
    }
    $connect = function () use ($parameters) {
        $connection = DriverManager::getConnection($parameters);
        $connection->setNestTransactionsWithSavepoints(true);
        return $connection;
    };
    $connection = $connect();
    $schema = $connection->createSchemaManager();
    if ($schema->tablesExist(['doctrine_note'])) {
        $schema->dropTable('doctrine_note');
    }
    $table = new Doctrine\DBAL\Schema\Table('doctrine_note');
    $table->addColumn('id', 'integer', ['autoincrement' => true]);
    $table->addColumn('owner', 'integer');
    $table->addColumn('text', 'string', ['length' => 50, 'notnull' => false]);
    $table->setPrimaryKey(['id']);
    $table->addIndex(['owner']);
    $schema->createTable($table);
    $found = $schema->introspectTable('doctrine_note');
    expect('its columns', array_keys($found->getColumns()), ['id', 'owner', 'text']);
    $difference = $schema->createComparator()->compareTables($found, $table);
    expect('what differs', $difference->isEmpty(), true);
    $connection->close();

    $connection = null;
    return function (int $number, int $turn) use ($connect, &$connection) {
        $connection ??= $connect();
        $insert = $connection->prepare('INSERT INTO doctrine_note (owner, text) VALUES (?, ?)');
        $insert->bindValue(1, $number, ParameterType::INTEGER);
        $insert->bindValue(2, "turn $turn – ß");
        $insert->executeStatement();
        $id = (int) $connection->lastInsertId();
        $mine = ['owner' => $number, 'text' => "turn $turn – ß"];
        $row = $connection->fetchAssociative('SELECT owner, text FROM doctrine_note WHERE id = ?', [$id]);
        expect('the note', ['owner' => (int) $row['owner']] + $row, $mine);
        $count = function () use ($connection, $number) {
            $query = $connection->createQueryBuilder()->select('COUNT(*)')->from('doctrine_note');
            $query->where('owner = :owner')->setParameter('owner', $number, ParameterType::INTEGER);
            return (int) $query->fetchOne();
        };
        $add = fn () => $connection->insert('doctrine_note', ['owner' => $number, 'text' => null]);
        rolled_back(fn ($never) => $connection->transactional(function () use ($connection, $add, $count, $turn, $never) {
            expect('added', $add(), 1);
            rolled_back(fn ($never) => $connection->transactional(function () use ($add, $never) {
                $add();
                $never();
            }));
            expect('inside', $count(), $turn + 2);
            $never();
        }));
        expect('notes', $count(), $turn + 1);
        $settings = $connection->fetchNumeric('SELECT @@sql_mode, @@time_zone, @@autocommit, @@wait_timeout');
        $settings = array_map('strval', $settings);
        expect('settings', $settings, ['STRICT_TRANS_TABLES,NO_ZERO_DATE', '-03:00', '1', '600']);
        $rows = $connection->iterateNumeric('SELECT id FROM doctrine_note WHERE owner = ? ORDER BY id', [$number]);
        expect('the last one', (int) array_slice(iterator_to_array($rows, false), -1)[0][0], $id);
    };
}

function session(callable $work, int $number): int
{
    try {
        for ($turn = 0; $turn < ROUNDS; $turn++) {
            $work($number, $turn);
        }
        return 0;
    } catch (Throwable $error) {
        echo "session $number: {$error->getMessage()} at {$error->getFile()}:{$error->getLine()}\n";
        return 1;
    }
}

$with = ['laravel' => 'with_laravel', 'doctrine' => 'with_doctrine'][$framework];
$work = $with($host, $port, $native);
$sessions = [];
for ($number = 0; $number < SESSIONS; $number++) {
    $process = pcntl_fork();
    if ($process === 0) {
        exit(session($work, $number));
    }
    $sessions[] = $process;
}
$failed = 0;
foreach ($sessions as $process) {
    pcntl_waitpid($process, $status);
    $failed += $status === 0 ? 0 : 1;
}
exit($failed === 0 ? 0 : 1);
