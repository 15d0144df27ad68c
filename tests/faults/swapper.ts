import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

/*
 * A process of its own that gives names in its working directory to real folders and to links in turn, as fast as it
 * can, until it is killed or its parent has gone. Its argument is JSON: the names, what the links lead to, and the
 * names of the files that a real folder holds when it is made. The service does as it likes with them meanwhile.
 */
const [names, target, files]: [string[], string, string[]] = JSON.parse(process.argv[2] ?? '[]');

while (process.connected) {
  for (let turn = 0; turn < 100; turn++) {
    for (const name of names) {
      if (!isDone(() => renameSync(name, `${name}.folder`))) makeFolder(name);
      if (!isDone(() => renameSync(`${name}.link`, name))) isDone(() => symlinkSync(target, `${name}.link`));
    }
    for (const name of names) {
      isDone(() => renameSync(name, `${name}.link`));
      isDone(() => renameSync(`${name}.folder`, name));
    }
  }
  // The signal, and that the parent has gone, are noticed here.
  await setImmediate();
}

/** Makes a real folder anew. A second one, which was made by the service while the name was free, goes. */
function makeFolder(name: string): void {
  isDone(() => rmSync(`${name}.folder`, { recursive: true }));
  if (isDone(() => mkdirSync(name))) for (const file of files) isDone(() => writeFileSync(`${name}/${file}`, 'inside'));
}

function isDone(step: () => void): boolean {
  try {
    step();
    return true;
  } catch {
    return false;
  }
}
