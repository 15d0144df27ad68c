import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/**
 * Writes the licences of the packages in a worker to `worker-licenses.md`, in the format of Vite's `build.license`, which
 * omits workers (Vite 8.3).
 */
export function workerLicenses(): Plugin {
  return {
    name: 'worker-licenses',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((output) => (output.type === 'chunk' ? output.moduleIds : []));
      const folders = new Set(modules.flatMap((id) => PACKAGE_FOLDER.exec(id)?.[0] ?? []));
      const sections = [...folders].toSorted().map(sectionOf);
      this.emitFile({ type: 'asset', fileName: 'worker-licenses.md', source: `# Licenses\n${sections.join('')}` });
    },
  };
}

/** Matches the folder of the innermost package that contains a module. */
const PACKAGE_FOLDER = /^\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;

function sectionOf(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifest as { name: string; version: string; license: string };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  return `\n## ${name} - ${version} (${license})\n${text}`;
}
