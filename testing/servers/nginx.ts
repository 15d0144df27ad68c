import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { atEnd, type Owner, temporaryFolder } from '../holdall.ts';
import { until } from '../until.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findFreePort } from './free-port.ts';

/**
 * Starts one nginx with one server for each text, which contains its directives. Returns their ports on 127.0.0.1, in
 * the same order. nginx stops at the end of the test.
 */
export async function startNginx(t: Owner, servers: readonly string[]): Promise<number[]> {
  assertDeclared('nginx');
  const folder = await temporaryFolder(t);
  const ports: number[] = [];
  for (const _ of servers) ports.push(await findFreePort());
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path ${one};`);
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  ${temporary.join(' ')}
  ${servers.map((server, index) => `server { listen 127.0.0.1:${ports[index]}; ${server} }`).join('\n  ')}
}
`,
  );
  const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const errors = text(child.stderr);
  const ended = once(child, 'close');
  atEnd(t, async () => {
    child.kill('SIGKILL');
    await ended;
  });
  for (const port of ports) {
    await until('nginx listens', async () => {
      if (child.exitCode !== null) assert.fail(`nginx ended: ${await errors}`);
      return acceptsConnections(port);
    });
  }
  return ports;
}
