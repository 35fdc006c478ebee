#!/bin/sh
# Gets an access token for the partner from Keycloak, and prints it: sh token.sh records:read
set -eu

curl --silent --fail --user partner:only-on-this-machine \
    --data grant_type=client_credentials --data-urlencode "scope=${1:-records:read}" \
    http://127.0.0.1:8180/realms/records/protocol/openid-connect/token |
    sed 's/.*"access_token":"\([^"]*\)".*/\1/'
