import { ADD_CHANGE_IDENTITIES } from './add-change-identities.ts';
import { ADD_JOB_CHECKPOINTS } from './add-job-checkpoints.ts';
import { ADD_JOB_TARGETS } from './add-job-targets.ts';
import { ADD_LINK_ENDS } from './add-link-ends.ts';
import { ADD_LINK_ITEMS } from './add-link-items.ts';
import { ADD_LOCK_APP_TOKENS } from './add-lock-app-tokens.ts';
import { ADD_PROPERTY_OWNERS } from './add-property-owners.ts';
import { ADD_UNDO } from './add-undo.ts';
import { ADD_UPLOAD_NETWORKS } from './add-upload-networks.ts';
import { ADD_UPLOAD_OWNER_ENTRIES } from './add-upload-owner-entries.ts';
import { ADD_UPLOAD_SITES } from './add-upload-sites.ts';
import { CREATE_APP_TOKENS } from './create-app-tokens.ts';
import { CREATE_CHANGES } from './create-changes.ts';
import { CREATE_EXPIRY_CLOCKS } from './create-expiry-clocks.ts';
import { CREATE_JOBS } from './create-jobs.ts';
import { CREATE_LINK_FEED } from './create-link-feed.ts';
import { CREATE_LINKS } from './create-links.ts';
import { CREATE_LOCKS } from './create-locks.ts';
import { CREATE_UPLOAD_CONTENTS } from './create-upload-contents.ts';
import { CREATE_UPLOADS } from './create-uploads.ts';
import { CREATE_WEBHOOKS } from './create-webhooks.ts';
import { CREATE_ZIP_CHECKSUMS } from './create-zip-checksums.ts';
import { INDEX_LONG_PATHS } from './index-long-paths.ts';
import type { Migration } from './migration.ts';

/** All migrations, in the order of their versions: the first one is version 1. Add new ones only at the end. */
export const MIGRATIONS: readonly Migration[] = [
  CREATE_JOBS,
  CREATE_CHANGES,
  ADD_JOB_CHECKPOINTS,
  ADD_UNDO,
  CREATE_WEBHOOKS,
  CREATE_LINKS,
  CREATE_ZIP_CHECKSUMS,
  CREATE_UPLOADS,
  CREATE_UPLOAD_CONTENTS,
  CREATE_LOCKS,
  CREATE_APP_TOKENS,
  ADD_LOCK_APP_TOKENS,
  CREATE_EXPIRY_CLOCKS,
  ADD_LINK_ENDS,
  ADD_LINK_ITEMS,
  ADD_JOB_TARGETS,
  ADD_PROPERTY_OWNERS,
  ADD_UPLOAD_OWNER_ENTRIES,
  INDEX_LONG_PATHS,
  ADD_UPLOAD_NETWORKS,
  ADD_UPLOAD_SITES,
  CREATE_LINK_FEED,
  ADD_CHANGE_IDENTITIES,
];
