import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { INSTALLED } from '../../scripts/external-packages.js';
import { describeSettings } from '../../src/config/help.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { ERROR_CODES } from '../../src/http/error-codes.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import type { Setting } from '../../src/settings/setting.ts';
import { disk } from '../contract/backend.ts';
import { jsonOf, send } from '../http/client.ts';
import { startService } from '../http/service.ts';

/** A page, with its tables as they are before they are aligned. */
const read = async (path: string) =>
  (await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')).replace(/ +\|/g, ' |');

/** Words of the help of a setting. */
const MAX_HELP_WORDS = 15;

describe('The documentation', () => {
  it('lists exactly the existing settings, with default, example and help', async () => {
    const page = await read('docs/reference/settings.md');
    const rows = [...page.matchAll(/^\| `([A-Z\d_]+)` \|.*$/gm)].map(([row, name = '']) => ({ row, name }));
    assert.deepEqual(
      rows.map(({ name }) => name),
      Object.keys(SETTINGS),
    );
    for (const { row, name } of rows) {
      const setting: Setting<unknown> = SETTINGS[name as keyof typeof SETTINGS];
      const fallback = setting.defaultText === null ? 'none' : `\`${setting.defaultText}\``;
      assert.ok(row.endsWith(` | ${setting.help} |`), name);
      // The help of STORAGE_TYPE lists the backends.
      if (name !== 'STORAGE_TYPE') assert.ok(setting.help.split(' ').length <= MAX_HELP_WORDS, setting.help);
      assert.ok(row.includes(setting.example), name);
      // The number of workers depends on the machine.
      if (name !== 'WORKERS') assert.ok(row.startsWith(`| \`${name}\` | ${fallback} |`), row);
    }
  });

  it('lists exactly the secrets that NAME_FILE can contain', async () => {
    const [, section = ''] = (await read('docs/reference/settings.md')).split('\n### Secrets\n');
    const names = [...(section.split('\n#')[0] ?? '').matchAll(/`([A-Z\d_]+)`/g)].map(([, name]) => name);
    const secrets = Object.entries(SETTINGS).filter(([, setting]: [string, Setting<unknown>]) => setting.isSecret);
    assert.deepEqual(
      names,
      secrets.map(([name]) => name),
    );
  });

  it('lists limits with the default of their setting', async () => {
    const settings = await read('docs/reference/settings.md');
    const limits = await read('docs/reference/limits.md');
    const names = new Set([...limits.matchAll(/^\| [^|]+ \| [^|]+ \| `([A-Z_]+)` \|/gm)].map(([, name = '']) => name));
    assert.ok(names.size > 8);
    for (const name of names) {
      const [, fallback] = new RegExp(`^\\| \`${name}\` \\| (\\S+) \\|`, 'm').exec(settings) ?? assert.fail(name);
      const rows = limits.split('\n').filter((line) => line.includes(`| \`${name}\` |`));
      const values = rows.map((row) => row.replaceAll(/[, ]/g, '')).join('\n');
      if (fallback !== 'none') assert.ok(values.includes(`|${fallback?.replaceAll('`', '')}`), `${name}: ${fallback}`);
    }
  });

  it('lists every setting in the help', () => {
    for (const name of Object.keys(SETTINGS)) assert.match(describeSettings(), new RegExp(`^  ${name}\\b`, 'm'));
  });

  it('lists every endpoint with each of its methods', async () => {
    const page = await read('docs/reference/http-api.md');
    const service = await startService(disk);
    try {
      const { paths } = jsonOf(await send(service.port, '/-/openapi.json')) as { paths: Record<string, object> };
      assert.ok(Object.keys(paths).length >= 14);
      for (const [path, operations] of Object.entries(paths)) {
        const rows = page.split('\n').filter((line) => line.startsWith('| ') && line.includes(`\`${path}\``));
        assert.ok(rows.length > 0, path);
        for (const method of Object.keys(operations)) {
          const name = method.toUpperCase();
          if (method !== 'head') assert.ok(rows.join('\n').includes(`\`${name}\``), `${name} ${path}`);
        }
      }
    } finally {
      await service.stop();
    }
  });

  it('lists the authentication methods in the HTTP API', async () => {
    const service = await startService(disk);
    try {
      const { components, security } = jsonOf(await send(service.port, '/-/openapi.json')) as {
        components: { securitySchemes: Record<string, Record<string, string>> };
        security: readonly object[];
      };
      const schemes = Object.entries(components.securitySchemes);
      assert.deepEqual(
        schemes.map(([name, { type, scheme, in: place, name: cookie }]) => [
          name,
          type,
          scheme ?? `${place} ${cookie}`,
        ]),
        [
          ['bearer', 'http', 'bearer'],
          ['basic', 'http', 'basic'],
          ['session', 'apiKey', 'cookie holdall'],
        ],
      );
      assert.deepEqual(security, [{}, ...schemes.map(([name]) => ({ [name]: [] }))]);
    } finally {
      await service.stop();
    }
  });

  it('lists exactly the existing error codes, with status, meaning and action', async () => {
    const rows = (await read('docs/reference/errors.md')).split('\n').filter((line) => /^\| \d{3} \|/.test(line));
    const expected = Object.entries(ERROR_CODES)
      .toSorted(([, left], [, right]) => left.status - right.status)
      .map(([code, { status, meaning, action }]) => `| ${status} | \`${code}\` | ${meaning} | ${action} |`);
    assert.deepEqual(rows, expected);
  });

  it('lists every status of an error in the HTTP API', async () => {
    const page = await read('docs/reference/http-api.md');
    for (const [code, { status }] of Object.entries(ERROR_CODES)) assert.ok(page.includes(`\n| ${status} |`), code);
  });

  it('lists exactly the existing metrics, with their labels', async () => {
    const rows = [
      ...(await read('docs/reference/metrics.md')).matchAll(/^\| `holdall_(\w+)` \| (\w+) \|.*?\|(.*?)\|/gm),
    ];
    const documented = rows.map(([, name, type, labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label) },
    ]);
    const metrics = createMetrics('1');
    metrics.setGaugeSources({
      queuedThumbnails: () => 0,
      quota: () => ({ limit: 1, remaining: 1, reset: new Date() }),
      volumes: async () => [{ name: 'files', free: 1, minFree: 1 }],
    });
    metrics.requestStarted();
    metrics.requestCompleted({ method: 'GET', route: undefined, status: 200, seconds: 1, received: 1, sent: 1 });
    metrics.storeCallCompleted({ operation: 'stat', outcome: 'ok', seconds: 1 });
    metrics.webhookAttempted('delivered');
    metrics.thumbnailServed('cache');
    const metricList = (await metrics.read()) as {
      name: string;
      type: string;
      values: { labels: Record<string, string> }[];
    }[];
    const counted = metricList
      .filter(({ name }) => name.startsWith('holdall_'))
      .map(({ name, type, values: [value] }) => [
        name.slice('holdall_'.length),
        { type, labels: Object.keys(value?.labels ?? {}).filter((label) => label !== 'worker' && label !== 'le') },
      ]);
    assert.deepEqual(Object.fromEntries(documented), Object.fromEntries(counted));
  });

  it('gives a reason for exactly the existing dependencies, with the licences of those that are shipped', async () => {
    const page = await read('docs/dependencies.md');
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(await read('package.json'));
    const { packages } = JSON.parse(await read('package-lock.json')) as {
      packages: Record<string, { license?: string }>;
    };
    const [installed = '', rest = ''] = page.split('These packages are bundled into the web UI.');
    const [bundled = '', development = ''] = rest.split('## Development');
    const rowsOf = (text: string) =>
      [...text.matchAll(/^\| (`[^|]+`) \| ([^|]+) \|/gm)].flatMap(([, cell = '', second = '']) =>
        [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name, second })),
      );
    const namesIn = (text: string) => rowsOf(text).map(({ name }) => name);
    const shipped = [...new Set([...Object.keys(dependencies as Record<string, string>), ...INSTALLED])];
    assert.deepEqual(namesIn(installed).toSorted(), shipped.toSorted());
    const tools: Record<string, string> = { ...devDependencies, ...optionalDependencies };
    assert.deepEqual(
      namesIn(bundled + development).toSorted(),
      Object.keys(tools)
        .filter((name) => !shipped.includes(name))
        .toSorted(),
    );
    for (const { name, second } of rowsOf(installed + bundled))
      assert.equal(second, packages[`node_modules/${name}`]?.license, name);
  });
});
