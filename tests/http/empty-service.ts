import assert from 'node:assert/strict';
import { after, beforeEach } from 'node:test';
import type { Backend } from '../contract/backend.ts';
import { escapePath, jsonOf, send } from './client.ts';
import { startService, type TestService } from './service.ts';

/** The stores that take less time to empty than to start another service. */
const EMPTIED: ReadonlySet<string> = new Set(['memory', 'bare memory', 'disk']);

/** Returns a service on an empty store for each test of a `describe`. */
export function serveEmptyStore(backend: Backend): { readonly port: number } {
  let service: TestService | undefined;
  beforeEach(async () => {
    if (service && EMPTIED.has(backend.name)) return empty(service.port);
    await service?.stop();
    service = await startService(backend);
  });
  after(() => service?.stop());
  return {
    get port() {
      return service?.port ?? assert.fail('The service is not started.');
    },
  };
}

async function empty(port: number): Promise<void> {
  const { entries } = jsonOf(await send(port, '/')) as { entries: readonly { type: string; path: string }[] };
  for (const { type, path } of entries) {
    const route = type === 'folder' ? '/delete_folder/' : '/delete/';
    const { status, body } = await send(port, `${route}${escapePath(path)}?permanent=true`, { method: 'DELETE' });
    assert.equal(status, 200, body.toString());
  }
}
