// kprofd as @grpc/grpc-js sees it, its messages loaded from the .proto files at run time. KPROF_BIN is the folder of the
// programs, KPROF_PROTO that of the .proto files.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');

const grpc = require('@grpc/grpc-js');
const protoLoader = require('@grpc/proto-loader');

const DEADLINE_MS = 30000;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'j-'));
const socket = path.join(folder, 's');
let daemon, kprof, runs, node, queries;

const inTime = () => ({ deadline: Date.now() + DEADLINE_MS });

// A unary call as a promise.
function call(client, method, request) {
  return new Promise((resolve, reject) => {
    client[method](request, new grpc.Metadata(), inTime(), (error, response) => (error ? reject(error) : resolve(response)));
  });
}

// All messages of a server stream.
async function all(stream) {
  const messages = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

function submit(...argv) {
  const spec = {
    tool: 'command',
    argv: argv.map((argument) => Buffer.from(argument)),
    cwd: Buffer.from(folder),
    environment: [{ name: Buffer.from('PATH'), value: Buffer.from('/usr/bin:/bin') }],
  };
  return call(runs, 'SubmitRun', { spec }).then((response) => response.run);
}

before(async () => {
  const files = fs.readdirSync(path.join(process.env.KPROF_PROTO, 'kprof/v1')).map((name) => `kprof/v1/${name}`);
  const definition = protoLoader.loadSync(files, {
    includeDirs: [process.env.KPROF_PROTO], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true,
  });
  kprof = grpc.loadPackageDefinition(definition).kprof.v1;
  const log = fs.openSync(path.join(folder, 'log'), 'w');
  daemon = spawn(path.join(process.env.KPROF_BIN, 'kprofd'),
    ['--user', '--state-dir', path.join(folder, 'state'), '--socket', socket], { stdio: ['ignore', log, log] });
  const credentials = grpc.credentials.createInsecure();
  runs = new kprof.RunsService(`unix:${socket}`, credentials);
  node = new kprof.NodeService(`unix:${socket}`, credentials);
  queries = new kprof.QueriesService(`unix:${socket}`, credentials);
  for (const client of [runs, node, queries]) {
    await new Promise((resolve, reject) => client.waitForReady(Date.now() + DEADLINE_MS,
      (error) => (error ? reject(new Error(`${error.message}\n${fs.readFileSync(path.join(folder, 'log'))}`)) : resolve())));
  }
});

after(async () => {
  for (const client of [runs, node, queries]) client?.close();
  if (daemon) {
    const gone = new Promise((resolve) => daemon.on('exit', resolve));
    daemon.kill('SIGTERM');
    await gone;
  }
  fs.rmSync(folder, { recursive: true, force: true });
});

test('status says who asks', async () => {
  const status = await call(node, 'GetStatus', {});
  assert.equal(status.caller_uid, process.getuid());
  assert.equal(status.pid, daemon.pid);
});

test('a run is submitted, watched to its end, and its log read', async () => {
  const run = await submit('echo', 'from grpc-js');
  const changes = await all(runs.WatchRun({ id: run.id }, inTime()));
  assert.equal(changes.at(-1).run.state, 'RUN_STATE_DONE');
  assert.equal(changes.at(-1).run.exit_code, 0);
  const log = Buffer.concat((await all(runs.ReadLog({ id: run.id }, inTime()))).map((piece) => piece.data));
  assert.equal(log.toString(), 'from grpc-js\n');
});

test('an artifact comes down with its sum', async () => {
  const run = await submit('seq', '100000');
  await call(runs, 'WaitRun', { id: run.id });
  const messages = await all(runs.DownloadArtifact({ id: run.id, name: 'stdout.log' }, inTime()));
  const data = Buffer.concat(messages.filter((message) => message.part === 'data').map((message) => message.data));
  assert.equal(messages.at(-1).sha256, createHash('sha256').update(data).digest('hex'));
  assert.equal(messages[0].artifact.sha256, messages.at(-1).sha256);
});

test('runs are listed page by page', async () => {
  await submit('true');
  await submit('true');
  const first = await call(runs, 'ListRuns', { page_size: 1 });
  const second = await call(runs, 'ListRuns', { page_size: 1, page_token: first.next_page_token });
  assert.ok(first.runs[0].id > second.runs[0].id);
});

test('a query streams header, batch and totals', async () => {
  const messages = await all(queries.Query({ sql: "SELECT 7 AS n, 'x' AS t" }, inTime()));
  assert.deepEqual(messages.map((message) => message.part), ['header', 'batch', 'totals']);
  assert.deepEqual(messages[0].header.columns.map((column) => column.name), ['n', 't']);
  assert.deepEqual(messages[1].batch.columns[0].integers, ['7']);
  assert.equal(messages[1].batch.columns[1].texts[0].toString(), 'x');
});

test('an unknown run is NOT_FOUND, with the details in the trailer', async () => {
  const error = await call(runs, 'GetRun', { id: 'zzzz' }).then(() => assert.fail('it answered'), (failure) => failure);
  assert.equal(error.code, grpc.status.NOT_FOUND);
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  assert.ok(bytes.includes('kprof.v1.ErrorDetail') && bytes.includes('not_found'));
});

test('a cancelled watch ends, and the run goes on', async () => {
  const run = await submit('sleep', '1000');
  const watch = runs.WatchRun({ id: run.id }, inTime());
  const code = await new Promise((resolve) => {
    watch.once('data', () => watch.cancel());
    watch.on('error', (error) => resolve(error.code));
    watch.on('end', () => resolve(grpc.status.OK));
  });
  assert.equal(code, grpc.status.CANCELLED);
  const again = (await call(runs, 'GetRun', { id: run.id })).run;
  assert.ok(['RUN_STATE_QUEUED', 'RUN_STATE_PREPARING', 'RUN_STATE_RUNNING'].includes(again.state), again.state);
  await call(runs, 'CancelRun', { id: run.id, grace_ms: '0' });
  await all(runs.WatchRun({ id: run.id }, inTime()));
});
