<?php
// Every call of analytics-php: client.php CONSUMER HOST KEY COUNT. The include path has its autoloader.
require "vendor/autoload.php";

use Segment\Segment;

class PlainLibCurl extends \Segment\Consumer\LibCurl
{
    protected string $protocol = 'http://';
}

class PlainForkCurl extends \Segment\Consumer\ForkCurl
{
    protected string $protocol = 'http://';
}

[, $consumer, $host, $key, $count] = $argv;
Segment::init($key, ['consumer' => $consumer, 'host' => $host, 'debug' => true]);
for ($n = 1; $n <= (int) $count; $n++) {
    $user = ['userId' => "u_$n"];
    switch ($n % 6) {
        case 0:
            Segment::identify($user + ['traits' => ['n' => $n]]);
            break;
        case 1:
            Segment::track($user + ['event' => 'Order Completed', 'properties' => ['n' => $n]]);
            break;
        case 2:
            Segment::page($user + ['name' => 'Home', 'properties' => ['n' => $n]]);
            break;
        case 3:
            Segment::screen($user + ['name' => 'Main', 'properties' => ['n' => $n]]);
            break;
        case 4:
            Segment::group($user + ['groupId' => 'acme', 'traits' => ['n' => $n]]);
            break;
        default:
            Segment::alias($user + ['previousId' => 'before']);
    }
    if ($n === intdiv((int) $count, 2)) {
        Segment::flush();
    }
}
Segment::flush();
