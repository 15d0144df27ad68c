import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

// Starts the service on an empty folder and stops it, so that it stores its compiled code (code-cache.js) for the starts of this user.

const folder = mkdtempSync(join(tmpdir(), 'holdall-code-'));
try {
  const served = join(folder, 'served');
  mkdirSync(served);
  const service = spawn(process.execPath, [fileURLToPath(new URL('holdall.js', import.meta.url))], {
    cwd: folder,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      DISK_ROOT: served,
      STATE_DIR: join(folder, 'state'),
      CACHE_DIR: join(folder, 'cache'),
      THUMBNAIL_PROGRAMS: 'false',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface(service.stdout).on('line', (line) => {
    if (line.includes('"Holdall is ready"')) service.kill('SIGTERM');
  });
  process.exitCode = await new Promise((resolve) => {
    service.on('close', (code) => resolve(code ?? 1));
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
