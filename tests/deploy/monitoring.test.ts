import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createMetrics } from '../../src/observability/metrics.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['prometheus'];

const run = promisify(execFile);
const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const ALERTS = join(DEPLOY, 'prometheus/alerts.yml');

/** The queries of the dashboard, as Grafana sends them to Prometheus. */
async function queries(): Promise<string[]> {
  const { panels } = JSON.parse(await readFile(join(DEPLOY, 'grafana/holdall.json'), 'utf8')) as {
    panels: { targets: { expr: string }[] }[];
  };
  return panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')),
  );
}

describe('The monitoring configuration', () => {
  it('has valid Prometheus rules that fire as expected', async () => {
    await run('promtool', ['check', 'rules', ALERTS]);
    await run('promtool', ['test', 'rules', join(DEPLOY, 'prometheus/alerts.test.yml')]);
  });

  it('has a dashboard with valid Prometheus queries', async (t) => {
    const found = await queries();
    assert.ok(found.length >= 15);
    const rules = found.map((expr, index) => ({ record: `query:${index}`, expr }));
    const file = join(await temporaryFolder(t), 'rules.yml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    await run('promtool', ['check', 'rules', file]);
  });

  it('uses only existing metrics and labels in rules and dashboard', async () => {
    const metrics = (await createMetrics('1').read()) as { name: string; type: string }[];
    const known = new Set(
      metrics.flatMap(({ name, type }) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    );
    const requested = `${await readFile(ALERTS, 'utf8')}\n${(await queries()).join('\n')}`;
    const names = new Set(requested.match(/\b(?:holdall|process|nodejs)_\w+/g));
    assert.ok(names.size >= 18);
    assert.deepEqual(
      [...names].filter((name) => !known.has(name)),
      [],
    );
  });

  it('has documented steps for each alert', async () => {
    const alerts = [...(await readFile(ALERTS, 'utf8')).matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    const page = await readFile(join(DEPLOY, '../docs/how-to/monitoring.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(Holdall\w+)`/gm)].map(([, name]) => name);
    assert.deepEqual(documented, alerts);
  });
});
