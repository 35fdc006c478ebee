#!/bin/sh
# Packs the PostgreSQL of this machine into a Docker image; image.rs calls it in an empty folder, with the entry point in it:
#   image.sh NAME BIN LIBRARIES SHARE STATEMENTS [HOME]
# BIN, LIBRARIES and SHARE are PostgreSQL's folders; STATEMENTS says whether it has pg_stat_statements. With HOME, everything
# below that folder is in /usr/local/pgsql in the image, so that this machine's paths are not carried along.
set -eu
name=$1 bin=$2 libraries=$3 share=$4 statements=$5 home=${6:-/usr/local/pgsql}

# What the entry point and the tool call in the container: busybox, which is one program for all, else this machine's own.
mkdir -p root/bin root/etc
for tool in sh df id mkdir mv rm cat ls sleep kill ps; do
    if program=$(command -v busybox || command -v "$tool"); then
        ln -s "$program" "root/bin/$tool"
        echo "$program"
    fi
done | sort -u >programs
[ -e root/bin/sh ] || { echo "there is no shell to put into the image: neither busybox nor sh is on the PATH" >&2; exit 1; }

for program in postgres initdb pg_ctl pg_isready psql pgbench pg_controldata; do
    [ ! -f "$bin/$program" ] || echo "$bin/$program"
done >>programs
# The compiler for queries pulls in 100 MB of LLVM; the server runs without. An extension whose libraries are not here (another
# Python, say) could not be loaded on this machine either.
find -L "$libraries" -type f -name '*.so*' ! -name 'llvmjit*' | while read -r file; do
    ldd "$file" 2>&1 | grep -q 'not found' || echo "$file"
done >>programs

# Lines such as "libz.so.1 => /lib/libz.so.1 (0x7f…)" and "/lib64/ld-linux-x86-64.so.2 (0x7f…)"; static programs have none.
while read -r program; do ldd "$program" 2>&1 || true; done <programs >needed
if grep 'not found' needed >&2; then
    echo "these libraries are missing: install PostgreSQL anew with your package manager, then just image again" >&2
    exit 1
fi
sed -n -e 's/^.* => \(\/.*\) (0x.*$/\1/p' -e 's/^[[:space:]]*\(\/.*\) (0x.*$/\1/p' needed | sort -u | while read -r library; do
    case $library in
        # Looked up by the C library at run time, so ldd does not name it; part of the C library from 2.34 on.
        */libc.so.6) find "${library%/*}/libnss_files.so.2" 2>/dev/null || true ;;
        # tar takes no detours: bin/../lib/libz.so.
        */../*) library=$(cd "${library%/*}" && pwd -P)/${library##*/} ;;
    esac
    echo "$library"
done >libraries

{
    cat programs libraries
    find -L "$share" -type f ! -path "$share/man/*" ! -path "$share/doc/*"
    find -L /usr/share/zoneinfo/UTC /usr/share/zoneinfo/GMT /usr/share/zoneinfo/Etc/UTC 2>/dev/null || true
} | grep -v '/busybox$' | sort -u >files

# Everything belongs to root; the server runs as the user 999, as in Debian's official image, and anybody may write where it does.
echo "root:x:0:0::/:/bin/sh
postgres:x:999:999::/var/lib/postgresql:/bin/sh" >root/etc/passwd
echo "root:x:0:
postgres:x:999:" >root/etc/group
echo "passwd: files
group: files
hosts: files dns" >root/etc/nsswitch.conf
cp entry-point.sh root/entry-point.sh
chmod 755 root/entry-point.sh
for folder in tmp var/run/postgresql run/postgresql var/lib/postgresql var/lib/postgresql/data; do
    mkdir -p "root/$folder"
    chmod 1777 "root/$folder"
done

# Links are followed: the content is under the name that is asked for.
in_image() { sed "s|^$home/|/usr/local/pgsql/|"; }
search=$(sed 's|/[^/]*$||' libraries | sort -u | in_image | paste -s -d: -)
tar --create --dereference --absolute-names --mode=a+rX --owner=0 --group=0 --numeric-owner \
    --transform="s|^$home/|/usr/local/pgsql/|" --transform='s|^/||' --files-from=files --directory=root . >image.tar
docker import \
    --change "ENV PATH=$(echo "$bin/" | in_image):/usr/bin:/bin" \
    --change "ENV LD_LIBRARY_PATH=$search" \
    --change 'ENV PGDATA=/var/lib/postgresql/data/cluster' \
    --change 'ENV LC_ALL=C' \
    --change 'USER postgres' \
    --change 'WORKDIR /var/lib/postgresql' \
    --change 'VOLUME /var/lib/postgresql/data' \
    --change 'EXPOSE 5432' \
    --change 'ENTRYPOINT ["/entry-point.sh"]' \
    --change 'CMD ["postgres"]' \
    --change "LABEL workshop.statements=$statements" \
    image.tar "$name"
