import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Resource } from './exit-cleanup.ts';

// Started by exit-cleanup.ts, which writes the resources of its parent to standard input. The input ends when the
// parent has ended: the remaining resources are then cleaned up.
const held = new Map<string, Resource>();
for await (const line of createInterface({ input: process.stdin })) {
  const { held: isHeld, kind, name }: Resource & { held: boolean } = JSON.parse(line);
  if (isHeld) held.set(`${kind} ${name}`, { kind, name });
  else held.delete(`${kind} ${name}`);
}
for (const { kind, name } of held.values()) {
  if (kind === 'group') killGroup(Number(name));
}
for (const { kind, name } of held.values()) {
  // Killed processes can still write for a moment.
  if (kind === 'folder') rmSync(name, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
