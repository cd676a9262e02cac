// Chrome exports of kprofd in a reader that is not ours: a model of processes, threads and nested slices that others make of Chrome
// traces. KPROF_BIN is the folder of the programs.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');

const { buildModel } = require('@tracerbench/trace-model');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'c-'));
const socket = path.join(folder, 's');
let daemon;

const kprofctl = (...args) => execFileSync(path.join(process.env.KPROF_BIN, 'kprofctl'), ['--socket', socket, ...args],
  { maxBuffer: 1 << 28, timeout: 60000, stdio: ['ignore', 'pipe', 'pipe'] });

// Two processes; on a thread of the first 100 steps, each with an operation in it that launches a kernel on the second.
const events = [
  { ph: 'M', name: 'process_name', pid: 10, tid: 0, args: { name: 'python' } },
  { ph: 'M', name: 'thread_name', pid: 10, tid: 11, args: { name: 'main' } },
  { ph: 'M', name: 'process_name', pid: 7, tid: 0, args: { name: 'GPU 7' } },
];
for (let i = 0; i < 100; i++) {
  const ts = 1000 + 100 * i;
  events.push({ ph: 'X', cat: 'step', name: `step ${i}`, pid: 10, tid: 11, ts, dur: 90.5 });
  events.push({ ph: 'X', cat: 'cpu_op', name: 'launch', pid: 10, tid: 11, ts: ts + 10, dur: 20, args: { correlation: i } });
  events.push({ ph: 'X', cat: 'kernel', name: 'gemm', pid: 7, tid: 20, ts: ts + 50, dur: 30, args: { correlation: i } });
  events.push({ ph: 's', cat: 'ac2g', name: 'ac2g', id: i, pid: 10, tid: 11, ts: ts + 10 });
  events.push({ ph: 'f', bp: 'e', cat: 'ac2g', name: 'ac2g', id: i, pid: 7, tid: 20, ts: ts + 50 });
}
for (let i = 0; i < 10; i++) events.push({ ph: 'C', name: 'memory', pid: 10, ts: 1000 * i, args: { bytes: i } });

before(async () => {
  const log = fs.openSync(path.join(folder, 'log'), 'w');
  daemon = spawn(path.join(process.env.KPROF_BIN, 'kprofd'),
    ['--user', '--state-dir', path.join(folder, 'state'), '--socket', socket], { stdio: ['ignore', log, log] });
  for (let tries = 0; !fs.existsSync(socket); tries++) {
    assert.ok(tries < 600, 'kprofd does not listen');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

after(async () => {
  daemon.kill('SIGTERM');
  await new Promise((resolve) => daemon.once('exit', resolve));
  fs.rmSync(folder, { recursive: true });
});

function exported(...options) {
  return buildModel(JSON.parse(kprofctl('export', '@last', '--format', 'chrome', '-o', '-', ...options)));
}

test('a trace has its processes, threads, slices, flows and counters', () => {
  const file = path.join(folder, 'trace.json');
  fs.writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents: events }));
  kprofctl('import', file);
  const model = exported();
  assert.deepEqual(model.processes.map((process) => process.name).sort(), ['GPU 7', 'python']);
  const python = model.processes.find((process) => process.name === 'python');
  const main = python.threads.find((thread) => thread.name === 'main');
  assert.equal(main.events.filter((event) => event.isComplete()).length, 200);
  const launches = main.events.filter((event) => event.name === 'launch');
  launches.forEach((launch, i) => {
    assert.equal(launch.parent.name, `step ${i}`);
    assert.equal(launch.duration, 20);
    assert.equal(launch.getNumberArg('correlation'), i);
    assert.ok(launch.hasCategory('cpu_op'));
  });
  assert.equal(launches[1].start - launches[0].start, 100);
  const all = model.events;
  assert.equal(all.filter((event) => event.isFlowBegin()).length, 100);
  assert.equal(all.filter((event) => event.isFlowEnd()).length, 100);
  assert.deepEqual(all.filter((event) => event.isCounter()).map((event) => event.args.bytes), [...Array(10).keys()]);
});

test('ranks stand side by side, their processes apart', () => {
  const ranks = path.join(folder, 'ranks');
  fs.mkdirSync(ranks);
  for (const rank of [0, 1]) {
    fs.writeFileSync(path.join(ranks, `rank${rank}.json`), JSON.stringify({ distributedInfo: { rank }, traceEvents: events }));
  }
  kprofctl('import', ranks);
  const model = exported();
  assert.equal(model.processes.length, 4);
  const steps = model.events.filter((event) => event.hasCategory('step'));
  assert.equal(steps.length, 200);
  assert.equal(new Set(steps.map((step) => step.pid)).size, 2);
  assert.equal(exported('--rank', '1').processes.length, 2);
});
