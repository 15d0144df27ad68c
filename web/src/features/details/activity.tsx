import { useEffect, useRef, useState } from 'preact/hooks';
import { type Activity as ActivityOf, isActivityOf, readActivity } from '../../model/activity/activity.ts';
import { undoLogged } from '../../model/changes/undo-logged.ts';
import { coalesce } from '../../model/feed/coalesce.ts';
import { isFolderPath, isWithin, parentOf } from '../../platform/paths.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useChanges, useDetails, usePermissions, useRetention, useService } from '../models.ts';
import { describeChange, iconOf } from './change-descriptions.ts';
import './activity.css';

/** The number of changes that are loaded at first, and the factor by which "Show more" increases it. */
const FIRST_COUNT = 10;
const COUNT_FACTOR = 5;

/** Shows what happened to a file, or to a folder and everything in it: by whom, and when. It is always up to date. */
export function Activity({ path }: { path: string }) {
  const service = useService();
  const language = useFullLanguage();
  const { text } = language;
  const [count, setCount] = useState(FIRST_COUNT);
  const revision = useRevision(path);
  const loaded = useLoaded((signal) => readActivity(service, path, { count, signal }), [path, count, revision]);
  /** Stays visible while the list loads again. */
  const last = useRef<ActivityOf | undefined>(undefined);
  if (loaded.state === 'ready') last.current = loaded.value;
  return (
    <section class="activity">
      <h4>{text.activity.title}</h4>
      {last.current && <ChangeRows path={path} changes={last.current.changes} />}
      {last.current?.hasMore && <Button onClick={() => setCount(count * COUNT_FACTOR)}>{text.folder.showMore}</Button>}
      {loaded.state === 'loading' && !last.current && <p role="status">{text.folder.loading}</p>}
      {loaded.state === 'failed' && (
        <div role="alert">
          <p>{`${text.activity.loadFailed} ${language.reasonOf(asServiceError(loaded.error))}`}</p>
          <Button onClick={loaded.retry}>{text.controls.retry}</Button>
        </div>
      )}
    </section>
  );
}

/** Returns a number that changes a moment after the path has changed. */
function useRevision(path: string): number {
  const { feedListeners } = useDetails();
  const [revision, setRevision] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    const update = coalesce(() => setRevision((previous) => previous + 1), ending.signal);
    const listener = (change: FeedChange | undefined) => {
      if (!change || isActivityOf(path, change)) update();
    };
    feedListeners.add(listener);
    return () => {
      feedListeners.delete(listener);
      ending.abort();
    };
  }, [path]);
  return revision;
}

function ChangeRows({ path, changes }: { path: string; changes: readonly FeedChange[] }) {
  const { text } = useFullLanguage();
  if (changes.length === 0) return <p class="secondary">{text.activity.none}</p>;
  return (
    <ul>
      {changes.map((change) => (
        // A move that is shown as two changes has one ID.
        <ChangeRow key={`${change.id} ${change.path}`} path={path} change={change} />
      ))}
    </ul>
  );
}

function ChangeRow({ path, change }: { path: string; change: FeedChange }) {
  const { text, formats } = useFullLanguage();
  const description = describeChange(change, text);
  const time = new Date(change.time);
  const parent = parentOf(change.path);
  const isDeep = isFolderPath(path) && parent !== path && isWithin(parent, path);
  return (
    <li>
      <Icon name={iconOf(change)} />
      <div>
        <span>{description}</span>
        <span class="secondary">
          {change.user !== undefined && (
            <>
              <Name of={change.user} />
              {' · '}
            </>
          )}
          {change.link !== undefined && `${text.activity.visitor} · `}
          {isDeep && (
            <>
              <Name of={parent.slice(path.length, -1)} />
              {' · '}
            </>
          )}
          <time dateTime={change.time} title={formats.exactTime(time)}>
            {formats.time(time)}
          </time>
        </span>
      </div>
      <UndoButton change={change} description={description} />
    </li>
  );
}

/** Undoes a change. Whether that is still possible, only the service knows. */
function UndoButton({ change, description }: { change: FeedChange; description: string }) {
  const changes = useChanges();
  const { text } = useFullLanguage();
  if (!useCanBeUndone(change)) return null;
  const undo = () => void changes.perform(({ context }) => undoLogged(context, { ...change, description }));
  return <IconButton icon="undo" label={text.activity.undo({ message: description })} onClick={undo} />;
}

/** Returns false for changes that can never be undone. */
function useCanBeUndone({ type }: FeedChange): boolean {
  const { trash, keepsVersions } = useRetention();
  const { isReadOnly } = usePermissions();
  if (isReadOnly || type === 'file.touched' || type === 'folder.changed' || type === 'resync') return false;
  if (type === 'file.deleted' || type === 'folder.deleted') return trash !== null;
  return type !== 'file.replaced' || keepsVersions;
}
