#!/bin/sh
# Writes the power of a laptop's battery or a Raspberry Pi 5 once per second, in the CSV format of a wattmeter:
#   sh watts.sh battery >watts.csv    a laptop on its battery, charger unplugged
#   sh watts.sh pi >watts.csv         the power chip of a Raspberry Pi 5
# Press Ctrl-C to stop it, or pass the number of lines to write as a second argument.
set -eu
supplies=${SUPPLIES:-/sys/class/power_supply}

fail() {
    echo "error: $1" >&2
    exit 1
}

# Adds up the power of the discharging batteries (in micro-units), or else current times voltage.
battery() {
    cat "$supplies"/BAT*/uevent 2>/dev/null | awk -F= '
        function add() { if (gives) watts += power ? power : amperes * volts; gives = power = amperes = volts = 0 }
        $1 == "POWER_SUPPLY_NAME" { add() }
        $1 == "POWER_SUPPLY_STATUS" { gives = $2 == "Discharging" }
        $1 == "POWER_SUPPLY_POWER_NOW" { power = ($2 < 0 ? -$2 : $2) / 1e6 }
        $1 == "POWER_SUPPLY_CURRENT_NOW" { amperes = ($2 < 0 ? -$2 : $2) / 1e6 }
        $1 == "POWER_SUPPLY_VOLTAGE_NOW" { volts = $2 / 1e6 }
        END { add(); if (watts) print watts }'
}

# Adds up the power of the chip's rails: current times voltage.
pi() {
    vcgencmd pmic_read_adc | awk '
        { split($2, value, "="); line = substr($1, 1, length($1) - 2) }
        $1 ~ /_A$/ { amperes[line] = value[2] + 0 }
        $1 ~ /_V$/ { watts += amperes[line] * value[2] }
        END { if (watts) print watts }'
}

case ${1:-} in
    battery) said="no battery gives power; pull the plug of the charger" ;;
    pi)
        command -v vcgencmd >/dev/null || fail "there is no vcgencmd here; Raspberry Pi OS brings it"
        said="vcgencmd pmic_read_adc tells no power, as on the boards before the Pi 5"
        ;;
    *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
lines=${2:-0}
head=time,watts
while :; do
    watts=$("$1")
    [ -n "$watts" ] || fail "$said"
    [ -z "$head" ] || echo "$head"
    head=''
    echo "$(date +%s.%N),$watts"
    [ "$lines" -ne 1 ] || exit 0
    lines=$((lines - 1))
    sleep 1
done
