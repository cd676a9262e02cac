// kprofctl mcp as the client of the official SDK sees it, in front of a real kprofd. KPROF_BIN is the folder of the programs.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

const DEADLINE_MS = 60000;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'm-'));
const socket = path.join(folder, 's');
const kprofctl = path.join(process.env.KPROF_BIN, 'kprofctl');
let daemon, client, transport;

const answers = () => new Promise((resolve) => {
  const probe = net.connect(socket, () => { probe.end(); resolve(true); });
  probe.on('error', () => resolve(false));
});

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function until(condition, what) {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `waited for ${what}`);
    await sleep(20);
  }
}

async function call(name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: DEADLINE_MS, ...options });
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result;
}

before(async () => {
  const log = fs.openSync(path.join(folder, 'log'), 'w');
  daemon = spawn(path.join(process.env.KPROF_BIN, 'kprofd'),
    ['--user', '--state-dir', path.join(folder, 'state'), '--socket', socket], { stdio: ['ignore', log, log] });
  await until(answers, 'kprofd to listen');
  transport = new StdioClientTransport({ command: kprofctl, args: ['--socket', socket, 'mcp'], cwd: folder, stderr: 'inherit' });
  client = new Client({ name: 'interop', version: '1.0.0' });
  await client.connect(transport);
});

after(async () => {
  await client?.close();
  if (daemon) {
    const gone = new Promise((resolve) => { daemon.on('exit', resolve); });
    daemon.kill('SIGTERM');
    await gone;
  }
  fs.rmSync(folder, { recursive: true, force: true });
});

test('the client and the server agree', async () => {
  assert.equal(client.getServerVersion().name, 'kprof');
  assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['prompts', 'resources', 'tools']);
  assert.match(client.getInstructions(), /trust/);
  await client.ping();
});

test('each tool has a schema and says whether it only reads', async () => {
  const { tools } = await client.listTools();
  assert.ok(tools.length >= 10);
  for (const tool of tools) {
    assert.equal(tool.inputSchema.type, 'object');
    assert.equal(typeof tool.annotations.readOnlyHint, 'boolean');
  }
});

test('a capture gives a verdict, and its samples can be asked', async () => {
  const captured = await call('capture', { tool: 'event', command: ['sleep', '0.02'], against: 'sleep 0.2', device: 'cpu' });
  const run = captured.structuredContent;
  assert.equal(run.verdict, 'FASTER');
  assert.ok(run.comparison.ci_high < 1);
  const samples = await call('analyze', { kind: 'samples', runs: [run.id], rows: 5 });
  assert.equal(samples.structuredContent.result.verdict, 'FASTER');
  assert.equal(samples.structuredContent.result.turns.length, 5);
  const rows = await call('query', { sql: `SELECT verdict FROM run WHERE id = '${run.id}'` });
  assert.deepEqual(rows.structuredContent.rows, [['FASTER']]);
});

test('a failure is a result with its code and its remedy', async () => {
  const result = await call('show', { run: '1zzzzzzzzzzzzzzz' });
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent.code, 'not_found');
  await assert.rejects(client.callTool({ name: 'nope', arguments: {} }), { code: -32602 });
});

test('a session is opened, shown and closed', async () => {
  const { structuredContent: session } = await call('session_open', { device: 'cpu' });
  await call('capture', { tool: 'command', command: 'true', session: session.id });
  const { structuredContent: shown } = await call('session_show', { session: session.id });
  assert.equal(shown.rounds.length, 1);
  const { structuredContent: closed } = await call('session_close', { session: session.id });
  assert.equal(closed.state, 'closed');
});

test('artifacts are resources', async () => {
  const { structuredContent: run } = await call('capture',
    { tool: 'command', command: 'echo "# Page" > page.md', collect: ['page.md'], device: 'none' });
  const { resources } = await client.listResources();
  const uri = `kprof://${run.id}/artifacts/page.md`;
  assert.ok(resources.some((resource) => resource.uri === uri));
  const { contents } = await client.readResource({ uri });
  assert.equal(contents[0].text, '# Page\n');
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
});

test('the prompt has the command in it', async () => {
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ['optimise_kernel']);
  const { messages } = await client.getPrompt({ name: 'optimise_kernel', arguments: { command: './bench' } });
  assert.match(messages[0].content.text, /\.\/bench/);
});

test('a call that its client gives up cancels the run, with progress until then', async () => {
  const controller = new AbortController();
  const told = [];
  const given = client.callTool(
    { name: 'capture', arguments: { tool: 'command', command: ['sleep', '1000'], device: 'none', labels: { gave: 'up' } } },
    undefined, { signal: controller.signal, timeout: DEADLINE_MS, onprogress: (progress) => told.push(progress) });
  await until(() => told.length > 0, 'progress');
  controller.abort();
  await assert.rejects(given);
  const state = async () => (await call('runs', { labels: { gave: 'up' } })).structuredContent.runs[0].state;
  await until(async () => (await state()) === 'cancelled', 'the run to be cancelled');
});
