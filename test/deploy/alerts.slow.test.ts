import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ensureProgram } from '@posthorn/test/support/debian-package.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { parse, stringify } from 'yaml';
import { readAlerts, readPanelQueries } from './figures.ts';
import { type Document, deployDir, readDeployed } from './files.ts';

const folder = path.join(deployDir, 'prometheus');
const work = mkdtempSync(path.join(tmpdir(), 'posthorn-alerts-'));
after(() => rmSync(work, { recursive: true, force: true }));

const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });

describe('the alerts', () => {
  before(() => ensureProgram('promtool', 'prometheus'));

  it('are rules that Prometheus understands', () => {
    const { status, stdout, stderr } = promtool('check', 'rules', 'alerts.yaml');
    assert.equal(status, 0, stdout + stderr);
  });

  it('fire for the reason that they name, and are quiet without it', () => {
    const { status, stdout, stderr } = promtool('test', 'rules', 'alerts.test.yaml');
    assert.equal(status, 0, stdout + stderr);
  });

  it('are each tried both ways', () => {
    const tried = parse(readDeployed('prometheus/alerts.test.yaml')).tests.flatMap(
      (test: Document) => test.alert_rule_test,
    );
    for (const { alert } of readAlerts()) {
      const own = tried.filter(({ alertname }: Document) => alertname === alert);
      const firing = own.filter(({ exp_alerts = [] }: Document) => exp_alerts.length > 0);
      assert.ok(firing.length > 0 && firing.length < own.length, alert);
    }
  });

  it('lead each to an entry of the runbook, which has no other', () => {
    const runbook = readFileSync(path.join(projectRoot, 'docs/runbook.md'), 'utf8');
    const entries = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(
      entries.sort(),
      readAlerts()
        .map(({ alert }) => alert)
        .sort(),
    );
    for (const { alert, annotations } of readAlerts())
      assert.equal(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`);
  });

  it('watch all that the service itself refuses or fails to do', () => {
    const watched = readAlerts()
      .map(({ expr }) => expr)
      .join('\n');
    const operating = readFileSync(path.join(projectRoot, 'docs/operating.md'), 'utf8');
    const losses = new Set(operating.match(/\bposthorn_\w*(?:refused|shed|failed|after_end)\w*/g));
    assert.ok(losses.size >= 3);
    for (const name of losses) assert.ok(watched.includes(name), name);
  });

  it('learn from the workers how many shards there are', () => {
    const { expr } = readAlerts().find(({ alert }) => alert === 'PosthornShardsWithoutOwner')!;
    assert.equal(expr, 'sum(posthorn_shards_owned) < max(posthorn_shards)');
  });

  it('find the processes by the jobs of scrape.yaml', () => {
    const { scrape_configs } = parse(readDeployed('prometheus/scrape.yaml'));
    assert.deepEqual(
      scrape_configs.map(({ job_name }: Document) => job_name),
      ['posthorn-messaging', 'posthorn-billing', 'posthorn-worker'],
    );
  });
});

describe('the dashboard', () => {
  before(() => ensureProgram('promtool', 'prometheus'));

  it('asks nothing that Prometheus does not understand', () => {
    const rules = readPanelQueries().map(({ expr }, nth) => ({ record: `panel:${nth}`, expr }));
    assert.ok(rules.length > 25);
    const file = path.join(work, 'panels.yaml');
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules }] }));
    const { status, stdout, stderr } = promtool('check', 'rules', file);
    assert.equal(status, 0, stdout + stderr);
  });
});
