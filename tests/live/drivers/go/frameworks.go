package main

import (
	"database/sql"
	"fmt"
	"os"
	"sync"
)

const (
	sessions = 50
	rounds   = 10
)

// Fifty sessions of database/sql as an application has them: statements prepared for each use and
// for long, and transactions that are rolled back. Prints nothing unless an answer is wrong.
func frameworks(host, port string) {
	source := "app:app@tcp(" + host + ":" + port + ")/test?charset=utf8mb4&parseTime=true" +
		"&innodb_lock_wait_timeout=9&sql_mode=%27STRICT_ALL_TABLES%27"
	db, err := sql.Open("mysql", source)
	if err == nil {
		db.SetMaxOpenConns(sessions)
		db.SetMaxIdleConns(sessions)
		_, err = db.Exec("CREATE TABLE IF NOT EXISTS go_note " +
			"(id INT AUTO_INCREMENT PRIMARY KEY, owner INT, text VARCHAR(50))")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	count, err := db.Prepare("SELECT COUNT(*), @@sql_mode FROM go_note WHERE owner = ?")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	var mutex sync.Mutex
	failed := false
	for number := 0; number < sessions; number++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			for turn := 0; turn < rounds; turn++ {
				if err := round(db, count, number, turn); err != nil {
					mutex.Lock()
					fmt.Printf("session %d: %v\n", number, err)
					failed = true
					mutex.Unlock()
					return
				}
			}
		}(number)
	}
	all.Wait()
	if failed {
		os.Exit(1)
	}
}

func round(db *sql.DB, count *sql.Stmt, number, turn int) error {
	const add = "INSERT INTO go_note (owner, text) VALUES (?, ?)"
	made, err := db.Exec(add, number, fmt.Sprint("turn ", turn))
	if err != nil {
		return err
	}
	id, err := made.LastInsertId()
	if err != nil {
		return err
	}
	var owner int
	err = db.QueryRow("SELECT owner FROM go_note WHERE id = ?", id).Scan(&owner)
	if err != nil || owner != number {
		return fmt.Errorf("somebody else's note: %d, %w", owner, err)
	}
	never, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := never.Exec(add, number, "never"); err != nil {
		return err
	}
	if err := counts(never.Stmt(count), number, turn+2); err != nil {
		return err
	}
	if err := never.Rollback(); err != nil {
		return err
	}
	change, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	if _, err := change.Exec("UPDATE go_note SET text = 'changed' WHERE id = ?", id); err != nil {
		return err
	}
	if err := change.Commit(); err != nil {
		return err
	}
	return counts(count, number, turn+1)
}

func counts(count *sql.Stmt, number, expected int) error {
	var notes int
	var mode string
	if err := count.QueryRow(number).Scan(&notes, &mode); err != nil {
		return err
	}
	if notes != expected || mode != "STRICT_ALL_TABLES" {
		return fmt.Errorf("%d notes, not %d; mode %s", notes, expected, mode)
	}
	return nil
}
