#!/usr/bin/env perl
# Makes one call with HTTP::Tiny, which comes with Perl.
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP qw(decode_json);

my $call = decode_json($ENV{CALL});
my $url  = $ENV{BASE} . $call->{path};
if (defined $call->{id}) {
    (my $id = $call->{id}) =~ s/([^A-Za-z0-9\-._~])/sprintf("%%%02X", ord($1))/ge;
    $url .= $id . $call->{rest};
}
my %headers = %{ $call->{headers} };
$headers{"Content-Type"} = $call->{type} if $call->{type};
my %options = (headers => \%headers);
$options{content} = $call->{body} if defined $call->{body};
$options{content} = sub { undef } if $call->{chunks};
my $answer = HTTP::Tiny->new->request($call->{method}, $url, \%options);
die "$answer->{status} $answer->{content}" unless $answer->{success};
