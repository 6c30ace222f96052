#!/bin/sh
# Run once by the image of PostgreSQL, on a database that is still empty. Posthorn's user is no superuser: it owns its
# database, and may create the role of billing.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTHORN_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE posthorn LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE posthorn OWNER posthorn TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
SQL
