import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { SETTINGS } from '../../src/config/settings.ts';

const PAGE = await readFile(new URL('../../docs/how-to/troubleshooting.md', import.meta.url), 'utf8');

const DOCTOR_PAGE = await readFile(new URL('../../docs/reference/doctor.md', import.meta.url), 'utf8');

const rowsOf = (text: string) =>
  [...text.matchAll(/^\| (?!-)(.*) \|$/gm)].map(([, row = '']) => row.split(/ +\| /).map((cell) => cell.trim()));

const codeIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** Returns all matching sources, with split strings joined. */
async function sourcesOf(pattern: string): Promise<string> {
  const sources: string[] = [];
  for await (const file of glob(pattern)) sources.push(await readFile(file, 'utf8'));
  return sources.join('\n').replaceAll(/['`"] \+\s*['`"]/g, '');
}

describe('The troubleshooting page', () => {
  const [, symptoms = ''] = PAGE.split('## Find the symptom');

  it('lists exactly the existing checks of the doctor', async () => {
    const source = await sourcesOf('src/{checks,doctor,stores}/**/*.ts');
    const names = [...source.matchAll(/(?:\bname: |\.report\(\s*)'([a-z]+(?:-[a-z]+)*)'/g)].map(
      ([, name = '']) => name,
    );
    const checks = new Set(names);
    assert.ok(checks.size > 40);
    const listed = rowsOf(DOCTOR_PAGE).flatMap(([cell = '']) => /^`([a-z][a-z-]*)`$/.exec(cell)?.[1] ?? []);
    assert.deepEqual(listed.toSorted(), [...checks].toSorted());
    const referred = rowsOf(symptoms)
      .flatMap((cells) => codeIn(cells.at(-1) ?? ''))
      .filter((code) =>
        /^(settings|access|redis|(private|secret|public|own|open|disk|store|bucket|repository|url|probe)-[a-z-]+)$/.test(
          code,
        ),
      );
    assert.ok(referred.length > 30);
    assert.deepEqual(
      referred.filter((name) => !checks.has(name)),
      [],
    );
  });

  it('quotes every message exactly as Holdall prints it', async () => {
    const source = await sourcesOf('src/**/*.ts');
    const texts = rowsOf(symptoms)
      .flatMap(([seen = '']) => codeIn(seen))
      .filter((text) => text.includes(' '));
    assert.ok(texts.length > 35);
    for (const text of texts) {
      const parts = text.split('…').filter((part) => part.trim().length > 1);
      for (const part of parts) assert.ok(source.includes(part), `${JSON.stringify(part)} of ${text}`);
    }
  });

  it('names only existing settings', () => {
    const known = new Set([...Object.keys(SETTINGS), 'HOLDALL_TOKEN', 'TMPDIR']);
    for (const code of codeIn(PAGE)) {
      const [, name] = /^([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)(?:=.*)?$/.exec(code) ?? [];
      if (name !== undefined) assert.ok(known.has(name), name);
    }
  });
});
