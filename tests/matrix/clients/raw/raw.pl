#!/usr/bin/perl
# Frames written by hand, with what every Debian has: `raw.pl stdio|http legacy|modern`. Over stdio through the shim.
use strict;
use warnings;
use IO::Socket::INET;
use IPC::Open2;

my ($transport, $era) = @ARGV;
my $revision = $era eq 'modern' ? '2026-07-28' : '2025-11-25';
my $about = '"clientInfo":{"name":"raw","version":"1"}';
my ($to, $from, $next) = (undef, undef, 0);

sub quoted {    # A JSON string of a text
    my ($text) = @_;
    $text =~ s/([\\"])/\\$1/g;
    $text =~ s/([\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
    return "\"$text\"";
}

sub over_stdio {    # One frame to the shim; the next line is its answer
    my ($frame, $is_request) = @_;
    if (!$to) { open2($from, $to, split / /, $ENV{ARCI_MCP_COMMAND}) or die "no shim: $!" }
    print $to "$frame\n";
    $to->flush;
    return $is_request ? scalar <$from> : undef;
}

sub over_http {    # One POST on a connection of its own; the body of what comes back
    my ($frame, $is_request, $method, $name) = @_;
    my ($host, $path) = $ENV{ARCI_MCP_URL} =~ m{^http://([^/]+)(/.*)$} or die "no address";
    my $socket = IO::Socket::INET->new($host) or die "cannot connect: $!";
    my %headers = (
        'Host' => $host, 'Content-Type' => 'application/json', 'Accept' => 'application/json, text/event-stream',
        'Connection' => 'close', 'Content-Length' => length $frame,
    );
    $headers{'MCP-Protocol-Version'} = $revision if $era eq 'modern' || $method ne 'initialize';
    $headers{'Mcp-Method'} = $method if $era eq 'modern';
    $headers{'Mcp-Name'} = $name if $era eq 'modern' && $name;
    print $socket "POST $path HTTP/1.1\r\n", (map { "$_: $headers{$_}\r\n" } sort keys %headers), "\r\n", $frame;
    $socket->flush;
    my ($head, $body) = split /\r\n\r\n/, do { local $/; <$socket> }, 2;
    my ($status) = $head =~ m{^HTTP/1\.1 (\d+)} or die "no HTTP: $head";
    die "$status instead of an answer to $frame" if $status != ($is_request ? 200 : 202);
    return $body;
}

sub said {    # A message without an answer
    my ($method) = @_;
    my $frame = "{\"jsonrpc\":\"2.0\",\"method\":\"$method\"}";
    $transport eq 'http' ? over_http($frame, 0, $method, '') : over_stdio($frame, 0);
}

sub asked {    # A request and the text of its answer
    my ($method, $params, $name) = @_;
    my $id = ++$next;
    if ($era eq 'modern') {
        my $prefix = 'io.modelcontextprotocol';
        my $meta = "\"$prefix/protocolVersion\":\"$revision\",\"$prefix/clientCapabilities\":{}";
        $params = join ',', grep { length } $params, "\"_meta\":{$meta}";
    }
    my $frame = "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"$method\",\"params\":{$params}}";
    my $answer = $transport eq 'http' ? over_http($frame, 1, $method, $name // '') : over_stdio($frame, 1);
    die "another id in $answer" if $answer !~ /"id": ?$id\b/;
    return $answer;
}

sub called {    # What a call answers, as an object of seen.json
    my ($tool, $arguments) = @_;
    my $answer = asked('tools/call', "\"name\":\"$tool\",\"arguments\":{$arguments}", $tool);
    my $is_error = $answer =~ /"isError": ?true/ ? 'true' : 'false';
    my ($text) = $answer =~ /"text": ?"((?:[^"\\]|\\.)*)"/ or die "no text in $answer";
    return ("{\"is_error\":$is_error,\"text\":\"$text\"}", $text);
}

my $found;
if ($era eq 'modern') {
    my $answer = asked('server/discover', '');
    ($found) = $answer =~ /"supportedVersions": ?\[[^\]]*"(\Q$revision\E)"/ or die "not supported: $answer";
}
else {
    my $answer = asked('initialize', "\"protocolVersion\":\"$revision\",\"capabilities\":{},$about");
    ($found) = $answer =~ /"protocolVersion": ?"([^"]+)"/ or die "no revision in $answer";
    said('notifications/initialized');
}
my $list = asked('tools/list', '');
my @tools = sort $list =~ /"name": ?"(count|order)"/g;
my ($faulted) = called('count', '"item":"apples"');
my ($clean, $count) = called('count', '"item":"apples"');
my ($ordered) = called('order', "\"item\":\"apples\",\"quantity\":$count");

my $seen = sprintf '{"revision":%s,"tools":[%s],"faulted":%s,"clean":%s,"ordered":%s}', quoted($found),
    join(',', map { quoted($_) } @tools), $faulted, $clean, $ordered;
open my $file, '>', "$ENV{ARCI_WORKDIR}/seen.json" or die "seen.json: $!";
print $file "$seen\n";
close $file or die "seen.json: $!";
print "$seen\n";
