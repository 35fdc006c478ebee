#!/bin/sh
# Writes what a battery or the sensors of a Raspberry Pi 5 say, once per second, as the CSV of a wattmeter:
#   sh watts.sh battery >watts.csv    a laptop on its battery, charger unplugged
#   sh watts.sh pi >watts.csv         the power chip of a Raspberry Pi 5
# Ctrl-C ends it; a number as a second word ends it after so many lines.
set -eu
supplies=${SUPPLIES:-/sys/class/power_supply}

# Of each battery its power, or else its current and its voltage, all in millionths.
battery() {
    cat "$supplies"/BAT*/uevent | awk -F= '
        /_POWER_NOW=/ { watts += $2 / 1e6 }
        /_CURRENT_NOW=/ { amperes = $2 / 1e6 }
        /_VOLTAGE_NOW=/ { volts = $2 / 1e6 }
        END { if (!watts) watts = amperes * volts; print watts < 0 ? -watts : watts }'
}

# Of each line of the power chip its current times its voltage.
pi() {
    vcgencmd pmic_read_adc | awk '
        { split($2, value, "="); line = substr($1, 1, length($1) - 2) }
        $1 ~ /_A$/ { amperes[line] = value[2] + 0 }
        $1 ~ /_V$/ { watts += amperes[line] * value[2] }
        END { print watts }'
}

case ${1:-} in
    battery | pi) ;;
    *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
echo time,watts
lines=${2:-0}
while :; do
    echo "$(date +%s.%N),$("$1")"
    [ "$lines" -ne 1 ] || exit 0
    lines=$((lines - 1))
    sleep 1
done
