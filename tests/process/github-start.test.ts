import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { explainStartError } from '../../src/server/serve.ts';
import { openStore } from '../../src/stores/registry.ts';
import { atEnd } from '../../testing/holdall.ts';
import type { RepositoryOptions } from '../../testing/servers/github.ts';
import { type HostedRepository, hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import { jsonOf, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

describe('A start with a GitHub repository', () => {
  it('names the repository, uses one worker by default and reports the rate limit', async (t) => {
    const hosted = await host(t);
    const settings = { ...settingsOfRepository(hosted), METRICS_TOKEN: 'a-token-for-metrics' };
    const { serves, port } = await startInProcess(t, { settings });
    assert.equal(
      serves,
      `${hosted.host.apiUrl}/repos/${hosted.options.owner}/${hosted.options.repository}, branch main`,
    );
    assert.equal(readConfig(settings).WORKERS, 1);
    const { quota } = jsonOf(
      await send(port, '/-/health/ready', { headers: { authorization: `Bearer ${settings.METRICS_TOKEN}` } }),
    ) as { quota: Record<string, unknown> };
    assert.equal(quota['limit'], 5000);
    assert.equal(quota['remaining'], hosted.host.quota.remaining);
    assert.equal(Date.parse(String(quota['reset'])), hosted.host.quota.reset * 1000);
  });

  // Concurrent, because some of these tests mostly wait for retry delays.
  describe('fails with a one-line error when', { concurrency: true }, () => {
    let usual: HostedRepository;
    before(async () => {
      usual = await hostRepository({ files: { a: 'text' } });
    });
    after(() => usual.remove());

    const refusals: Readonly<Record<string, Refusal>> = {
      'the token is wrong': { settings: { GITHUB_TOKEN: 'wrong' }, message: /rejected the token in GITHUB_TOKEN/ },
      'there is no token, and the repository is private': {
        settings: { GITHUB_TOKEN: '', READ_ONLY: 'true' },
        message: /, or it is private\. Check GITHUB_OWNER and GITHUB_REPO, or set GITHUB_TOKEN/,
      },
      'the branch does not exist in read-only mode': {
        settings: { GITHUB_BRANCH: 'missing', GITHUB_CREATE_BRANCH: 'true', READ_ONLY: 'true' },
        message: /has no branch "missing" .*with READ_ONLY=true, the branch is not created/,
      },
      'files that are read can be kept nowhere': {
        settings: { CACHE_DIR: '/dev/null/cache' },
        message: /\(CACHE_DIR\) can't be written to/,
      },
      'the token may only read': {
        prepare: ({ host: { permissions } }) => void (permissions.write = false),
        message: /can't write to .*"Contents: read and write", or set READ_ONLY=true/,
      },
      'the repository is archived': { prepare: ({ repository }) => repository.archive(), message: /is archived/ },
      'there is no repository of this name': {
        settings: { GITHUB_REPO: 'missing' },
        message: /The repository [\w-]+\/missing does not exist at .*GITHUB_OWNER, GITHUB_REPO and GITHUB_TOKEN/,
      },
      'there is no branch of this name': {
        settings: { GITHUB_BRANCH: 'missing' },
        message: /has no branch "missing" \(GITHUB_BRANCH\).*"main".*GITHUB_CREATE_BRANCH=true/,
      },
      'the rate limit is exceeded': {
        prepare: ({ host: { quota } }) => void (quota.remaining = 0),
        message: /rate limit is exceeded until 20/,
      },
      'the port is blocked': {
        settings: { GITHUB_API_URL: 'http://127.0.0.1:1' },
        message: /could not be sent \(bad port[^\n]*\)\. Check GITHUB_API_URL/,
      },
      'the host name is unknown': {
        settings: { GITHUB_API_URL: 'https://nowhere.invalid/api/v3' },
        message: /has an unknown host name\. Check GITHUB_API_URL/,
      },
    };
    for (const [what, { prepare, settings = {}, message }] of Object.entries(refusals)) {
      it(what, async (t) => {
        const hosted = prepare ? await host(t) : usual;
        prepare?.(hosted);
        const reason = await refusalOf({ ...settingsOfRepository(hosted), ...settings });
        assert.match(reason, message);
        assert.doesNotMatch(reason, /\n/);
        assert.ok(!reason.includes(hosted.host.token));
      });
    }
  });

  it('fails with a one-line error when the API URL returns a web page', async (t) => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><p>Hello');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = { ...settingsOfRepository(await host(t)), GITHUB_API_URL: apiUrl };
    assert.equal(await refusalOf(settings), `${apiUrl} does not respond like the GitHub API. Check GITHUB_API_URL.`);
  });

  it('needs neither write permission nor a token in read-only mode', async (t) => {
    const hosted = await host(t, { private: false });
    const { port } = await startInProcess(t, {
      settings: { ...settingsOfRepository(hosted), GITHUB_TOKEN: '', READ_ONLY: 'true' },
    });
    assert.equal((await send(port, '/file/a')).body.toString(), 'text');
  });
});

interface Refusal {
  readonly prepare?: (hosted: HostedRepository) => void;
  readonly settings?: Readonly<Record<string, string>>;
  readonly message: RegExp;
}

/** Opens the store like the service at its start. Returns the reason for a rejection. */
async function refusalOf(settings: Readonly<Record<string, string>>): Promise<string> {
  const log = { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} };
  const { store } = await openStore(readConfig(settings), log);
  assert.ok(store.check);
  try {
    await store.check();
  } catch (error) {
    return explainStartError(error) ?? assert.fail(String(error));
  } finally {
    await store.close?.();
  }
  return assert.fail('The start is not refused.');
}

async function host(t: TestContext, options: RepositoryOptions = {}): Promise<HostedRepository> {
  const hosted = await hostRepository({ files: { a: 'text' }, ...options });
  atEnd(t, () => hosted.remove());
  return hosted;
}
