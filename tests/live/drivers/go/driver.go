package main

import "database/sql/driver"

type (
	driverValue  = driver.NamedValue
	driverResult = driver.Result
)
