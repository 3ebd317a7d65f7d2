# A repository with one commit and a file that is not in it, and the official server over it.
set -eu
git init -q repo
printf 'milk\n' >repo/notes.txt
git -C repo commit -q --allow-empty -m first
exec /opt/servers/bin/mcp-server-git --repository repo
