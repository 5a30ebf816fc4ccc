# Fifty sessions of ActiveRecord as an application has them: its start-up with a migration, reads,
# writes, and transactions that are rolled back in part or as a whole. Prints nothing unless an
# answer is wrong.
#
# With LIVE_CA, over TLS and with the server's certificate verified by the authorities in that file.
#
# usage: frameworks.rb native|text HOST PORT

require "active_record"
require "tempfile"

SESSIONS = 50
ROUNDS = 10

prepares, host, port = ARGV
authorities = ENV.fetch("LIVE_CA", nil)
# over MariaDB's library, this driver passes on neither ssl_mode nor sslverify
strict = Tempfile.create("strict")
strict.write("[client]\nssl-verify-server-cert=1\n")
strict.close
verified = authorities ? { sslca: authorities, default_file: strict.path } : {}

class Note < ActiveRecord::Base
end

class CreateNotes < ActiveRecord::Migration[6.1]
  def change
    create_table :notes do |t|
      t.integer :owner, index: true
      t.string :text, limit: 50
      t.timestamps
    end
  end
end

def expect(what, given, expected)
  raise "#{what}: #{given.inspect}, not #{expected.inspect}" unless given == expected
end

def session(number)
  ROUNDS.times do |turn|
    note = Note.create!(owner: number, text: "turn #{turn} – ß")
    expect("owner", Note.find(note.id).owner, number)
    Note.transaction do
      Note.create!(owner: number, text: "never")
      Note.transaction(requires_new: true) do
        Note.create!(owner: number, text: "never")
        raise ActiveRecord::Rollback
      end
      expect("inside", Note.where(owner: number).count, turn + 2)
      raise ActiveRecord::Rollback
    end
    note.with_lock { note.update!(text: "changed") }
    expect("notes", Note.where(owner: number, text: "changed").count, turn + 1)
    expect("ids", Note.where(owner: number).order(:id).pluck(:id).last, note.id)
    rows = Note.connection.select_rows(
      "SELECT @@sql_mode LIKE '%STRICT_ALL_TABLES%', @@sql_auto_is_null, @@wait_timeout, @@time_zone"
    )
    expect("settings", rows, [[1, 0, 2_147_483, "+02:00"]])
    Note.connection_pool.release_connection if turn.even?
  end
end

ActiveRecord::Base.establish_connection(
  adapter: "mysql2",
  host: host,
  port: port.to_i,
  username: "app",
  password: "app",
  database: "test",
  encoding: "utf8mb4",
  pool: SESSIONS + 1,
  checkout_timeout: 60,
  prepared_statements: prepares == "native",
  variables: { time_zone: "+02:00" },
  **verified,
)
ActiveRecord::Base.default_timezone = :utc
ActiveRecord::Migration.verbose = false
ActiveRecord::Base.connection.drop_table(:notes, if_exists: true)
ActiveRecord::Base.connection.drop_table(:schema_migrations, if_exists: true)
migrations = [ActiveRecord::MigrationProxy.new("CreateNotes", 1, __FILE__, "")]
migrations.each { |proxy| proxy.instance_variable_set(:@migration, CreateNotes.new("CreateNotes", 1)) }
ActiveRecord::Migrator.new(:up, migrations, ActiveRecord::SchemaMigration).migrate
Note.reset_column_information
expect("columns", Note.column_names, %w[id owner text created_at updated_at])

together = Queue.new
threads = Array.new(SESSIONS) do |number|
  Thread.new do
    Note.connection
    together.pop
    session(number)
    nil
  rescue StandardError => e
    "session #{number}: #{e.message} #{e.backtrace.first(3)}"
  end
end
SESSIONS.times { together << :go }
failures = threads.map(&:value).compact
puts failures
File.unlink(strict.path)
exit(failures.empty?)
