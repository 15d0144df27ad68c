import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

/*
 * A separate process that repeatedly replaces names in its working directory by real folders and by links, until it is
 * killed or its parent has ended. Its argument is JSON: the names, the target of the links, and the names of the files
 * in a new real folder. The service can change these entries meanwhile.
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
  // Allows the process to handle signals and the end of its parent.
  await setImmediate();
}

/** Creates a real folder again. Removes a second one, which the service created while the name was free. */
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
