import { readFileSync } from 'node:fs';
import { releaseNotes } from './release/notes.ts';

/* Prints the release notes of a tag: `npm run release:notes -- v1.2.3`. Fails if the checkout does not match the tag. */

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
try {
  const notes = releaseNotes({
    tag: process.argv[2] ?? '',
    runningIn: process.env['GITHUB_REPOSITORY'],
    manifest: JSON.parse(read('package.json')),
    changelog: read('CHANGELOG.md'),
    dockerfile: read('Dockerfile'),
  });
  process.stdout.write(notes);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
