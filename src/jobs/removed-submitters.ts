import type { Policy } from '../access/policy.ts';
import { isRemovedSubmitter, type Submitter } from '../access/submitter.ts';
import type { Database } from '../database/database.ts';

/**
 * Removes the jobs of all users who are no longer in the access file, so that a later user of the same name neither sees nor
 * continues them. The attempt of a job that runs aborts at its next heartbeat.
 */
export async function removeJobsOfRemoved(database: Database, policy: Policy): Promise<void> {
  const owners = await database.run((db) =>
    db.selectFrom('jobs').select('owner').distinct().where('owner', 'is not', null).execute(),
  );
  const absent = owners.flatMap(({ owner }) => (owner !== null && !policy.userEntry(owner) ? [owner] : []));
  for (const owner of absent) {
    const jobs = await database.run((db) =>
      db.selectFrom('jobs').select(['id', 'submitter']).where('owner', '=', owner).execute(),
    );
    for (const { id, submitter } of jobs) {
      if (!isRemovedSubmitter(JSON.parse(submitter) as Submitter, policy)) continue;
      await database.run((db) => db.deleteFrom('jobs').where('id', '=', id).execute());
    }
  }
}
