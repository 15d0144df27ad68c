import { buffer } from 'node:stream/consumers';
import { isStoreError } from '../model/error.ts';
import { childFile, ROOT } from '../model/path.ts';
import { adviceFor } from './advice.ts';
import { type Check, notTried, ok, warning } from './check.ts';
import type { StoreSubject } from './store.ts';

/** Checks of a branch. */
export const REPOSITORY_CHECKS: readonly Check<StoreSubject>[] = [
  {
    name: 'repository-quota',
    async run({ store, config }) {
      const quota = store.quota?.();
      if (quota === undefined) return notTried('GitHub has not told of a quota.');
      const { limit, remaining, reset } = quota;
      const found = `${remaining} of ${limit} requests are left until ${reset.toISOString()}.`;
      if (config.GITHUB_TOKEN === undefined) {
        return warning(`${found} Without a token there are no more than 60 an hour.`, 'Set GITHUB_TOKEN.');
      }
      if (remaining >= limit / 10) return ok(found);
      return warning(
        found,
        'Wait until then; use a token that nothing else uses; set a larger GITHUB_TRUST and GITHUB_CACHE_SIZE.',
      );
    },
    explain: adviceFor(''),
  },
  {
    name: 'repository-workers',
    async run({ config: { WORKERS, GITHUB_WRITES_PER_MINUTE: writes } }) {
      if (WORKERS === 1) return ok('One process makes all the commits.');
      return warning(
        `WORKERS=${WORKERS}: each process makes commits of its own, and sends up to ${writes} writing requests a minute.`,
        'Set WORKERS=1, or divide GITHUB_WRITES_PER_MINUTE by WORKERS.',
      );
    },
    explain: adviceFor(''),
  },
  {
    name: 'repository-lfs',
    async run({ store }, signal) {
      const attributes = await store
        .read(childFile(ROOT, '.gitattributes'), { signal })
        .then(async ({ bytes, body }) => (bytes ?? (await buffer(body))).toString())
        .catch((error: unknown) => {
          if (isStoreError(error, 'not-found')) return '';
          throw error;
        });
      if (!/\bfilter=lfs\b/.test(attributes)) return ok('No file of the root has files go to Git LFS.');
      return warning(
        '.gitattributes has files go to Git LFS. They can be fetched; what is uploaded under such names goes in as plain files.',
        'Push large files with git lfs, or take the lines with filter=lfs out of .gitattributes: docs/stores/github.md, "Git LFS".',
      );
    },
    explain: adviceFor(''),
  },
];
