#!/usr/bin/perl
# Looks, reserves twice, confirms: five calls over one connection through the shim. Perl is part of every Debian.
use strict;
use warnings;

pipe(my $their_in, my $to) && pipe(my $from, my $their_out) or die "no pipe: $!";
my $pid = fork // die "cannot fork: $!";
if (!$pid) {
    open(STDIN, '<&', $their_in) && open(STDOUT, '>&', $their_out) or die "cannot hand on: $!";
    exec split / /, $ENV{ARCI_MCP_COMMAND};
}
close $their_in;
close $their_out;
my $id = 0;

sub say {
    my ($frame) = @_;
    syswrite($to, "{\"jsonrpc\":\"2.0\",$frame}\n") // die "the shim is gone: $!";
}

sub ask {
    my ($method, $params) = @_;
    $id++;
    say("\"id\":$id,\"method\":\"$method\",\"params\":{$params}");
    my $answer = <$from>;
    die "no answer to $method" if !defined $answer || $answer !~ /"id":$id,/;
}

my $order = '"order_id":"order-7"';
my $item = "$order,\"sku\":\"widget\"";
ask('initialize', '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"five","version":"1"}');
say('"method":"notifications/initialized"');
ask('tools/call', "\"name\":\"get_stock\",\"arguments\":{\"sku\":\"widget\"}");
ask('tools/call', "\"name\":\"get_reservation\",\"arguments\":{$order}");
ask('tools/call', "\"name\":\"reserve\",\"arguments\":{$item,\"quantity\":2}");
ask('tools/call', "\"name\":\"reserve\",\"arguments\":{$item,\"quantity\":2}");
ask('tools/call', "\"name\":\"confirm\",\"arguments\":{$item}");
close $to;
waitpid $pid, 0;
exit $? >> 8;
