#!/bin/sh
# Makes the fixtures of this folder anew, in the folder it is started in. See README.md.
set -eu
work=$(mktemp -d)
: > "$work/index"
cat > "$work/ca.cnf" <<CONF
[ca]
default_ca = fixtures
[fixtures]
database = $work/index
rand_serial = yes
new_certs_dir = $work
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
CONF

key() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1-key.pem" -out "$work/$1.csr" -subj "/CN=$2" -config /dev/null 2>/dev/null
}
sign() {
  name=$1; extensions=$2; from=$3; until=$4; shift 4
  openssl ca -batch -notext -config "$work/ca.cnf" -extensions "$extensions" -startdate "$from" -enddate "$until" -in "$work/$name.csr" -out "$name.pem" "$@" 2>/dev/null
}
names() {
  printf '[%s]\nbasicConstraints = CA:FALSE\nsubjectAltName = %s\n' "$1" "$2" >> "$work/ca.cnf"
}

start=20190101000000Z
end=21260101000000Z

key authority "Hookyard test authority"
sign authority authority $start $end -selfsign -keyfile authority-key.pem

names self-signed DNS:self-signed.localhost
key self-signed self-signed.localhost
sign self-signed self-signed $start $end -selfsign -keyfile self-signed-key.pem

signed() {
  names "$1" "$3"
  key "$1" "$2"
  sign "$1" "$1" "$4" "$5" -cert authority.pem -keyfile authority-key.pem
}
signed valid valid.localhost DNS:valid.localhost,IP:127.0.0.1 $start $end
signed wrong-host elsewhere.example DNS:elsewhere.example $start $end
signed expired expired.localhost DNS:expired.localhost $start 20200101000000Z

rm -r "$work"
