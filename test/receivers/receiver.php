<?php
// A receiver on PHP's own web server, with its effects in a file. It is right, except for the one bug that --bug names.

if (PHP_SAPI === 'cli') {
    startServer(getopt('', ['bug:', 'style:', 'port:', 'secret:', 'second-ms:']));
    exit(0);
}

/** Prints the port of a web server that runs this file for each request, and ends it with the standard input. */
function startServer(array $options): void
{
    $file = tempnam(sys_get_temp_dir(), 'hookyard-receiver-');
    $environment = ['BUG' => $options['bug'] ?? '', 'SECRET' => $options['secret'] ?? '', 'STORE' => $file] + getenv();
    $command = [PHP_BINARY, '-S', '127.0.0.1:' . ($options['port'] ?? 0), __FILE__];
    $server = proc_open($command, [1 => ['file', '/dev/null', 'w'], 2 => ['pipe', 'w']], $pipes, null, $environment);
    while (($line = fgets($pipes[2])) !== false) {
        if (preg_match('/127\.0\.0\.1:(\d+)\) started/', $line, $found)) {
            echo $found[1], "\n";
            break;
        }
        fwrite(STDERR, $line);
    }
    // The server must never wait for somebody to read its log.
    $streams = [STDIN, $pipes[2]];
    while (!feof(STDIN)) {
        [$read, $write, $except] = [$streams, null, null];
        stream_select($read, $write, $except, null);
        foreach ($read as $stream) fread($stream, 65536);
    }
    proc_terminate($server);
    proc_close($server);
    unlink($file);
}

function bug(string $name): bool
{
    return getenv('BUG') === $name;
}

function isSigned(string $body, string $signature): bool
{
    $expected = hash_hmac('sha1', $body, (string) getenv('SECRET'));
    return bug('signature-length') ? strlen($expected) === strlen($signature) : hash_equals($expected, $signature);
}

function apply(object $message, array &$store): void
{
    $user = $message->userId ?? $message->{'User ID'} ?? $message->anonymousId ?? '';
    $token = $message->properties->token ?? $message->traits->token ?? null;
    $effect = ['type' => $message->type, 'userId' => $user, 'token' => $token, 'at' => $message->timestamp ?? ''];
    if ($message->type === 'identify') {
        $known = $store['profiles'][$user]['at'] ?? '';
        if ($known <= $effect['at']) $store['profiles'][$user] = $effect;
        return;
    }
    if ($message->type === 'delete') unset($store['profiles'][$user]);
    $store['effects'][] = $effect;
}

/** Runs the work while no other process has the store. */
function withStore(callable $work): void
{
    $file = fopen((string) getenv('STORE'), 'r+');
    flock($file, LOCK_EX);
    $store = json_decode(stream_get_contents($file), true) ?? ['profiles' => [], 'effects' => [], 'done' => []];
    $work($store);
    rewind($file);
    ftruncate($file, 0);
    fwrite($file, json_encode($store));
    fclose($file);
}

function receive(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') return bug('get-fails') ? 500 : 405;
    $body = (string) file_get_contents('php://input');
    if (!isSigned($body, $_SERVER['HTTP_X_SIGNATURE'] ?? '')) return 401;
    $message = json_decode($body);
    if (!is_object($message)) return 400;
    $type = $message->type ?? null;
    if (!in_array($type, ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'], true)) return 200;
    if (bug('alias-refused') && $type === 'alias' && !isset($message->userId)) return 422;
    $key = $type === 'delete' ? 'delete ' . ($message->userId ?? '') : $message->messageId ?? null;
    if ($key === null) return 400;
    withStore(function (array &$store) use ($message, $key): void {
        if (isset($store['done'][$key])) return;
        apply($message, $store);
        $store['done'][$key] = true;
    });
    return 200;
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/effects') {
    header('Content-Type: application/json');
    withStore(function (array &$store): void {
        echo json_encode(array_merge(array_values($store['profiles']), $store['effects']));
    });
} else {
    http_response_code($path === '/hooks' ? receive() : 404);
}
