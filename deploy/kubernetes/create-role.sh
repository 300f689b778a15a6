#!/bin/bash
# Runs once, when the database cluster is created. The program gets a role of its own that owns one database: enough to run
# migrations and to create the extensions of the job queue, but no superuser, so a hole in the program is not one in the cluster.
set -euo pipefail
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv password ROUNDTABLE_PASSWORD
CREATE ROLE roundtable LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE roundtable OWNER roundtable;
REVOKE ALL ON DATABASE roundtable FROM PUBLIC;
SQL
