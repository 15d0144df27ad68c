import { useEffect, useState } from 'preact/hooks';
import { availableAction } from '../actions/actions.ts';
import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { usePage } from '../page.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { isTitleEnough, problemTitle } from '../../folder/problem-title.ts';
import './states.css';

/** Milliseconds before anything is shown of a folder that is being read: most are there earlier. */
const PATIENCE = 150;

/** Rows without words, in the place of those to come. */
export function Skeleton() {
  const { text } = useLanguage();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">{text.folder.loading}</span>
      {isShown && Array.from({ length: 12 }, (_, index) => <div key={index} class="bone" />)}
    </div>
  );
}

export function EmptyFolder() {
  const page = usePage();
  const { text } = useLanguage();
  const newFolder = availableAction(page, 'newFolder');
  const upload = availableAction(page, 'upload');
  const isSeen = page.rights.may('read');
  if (!upload) {
    return (
      <div class="state" tabIndex={-1}>
        <Drawing />
        <p>{isSeen ? text.folder.emptyReadOnly : text.folder.nothingToSee}</p>
      </div>
    );
  }
  return (
    <div class="state">
      <Drawing />
      <p>
        {isSeen ? text.folder.empty : text.folder.uploadOnly} <span class="hint">{text.folder.emptyHint}</span>
      </p>
      <div class="buttons">
        <Button icon="upload" kind="primary" onClick={() => upload.run(page)}>
          {text.actions.upload}
        </Button>
        {newFolder && (
          <Button icon="new-folder" onClick={() => newFolder.run(page)}>
            {text.actions.newFolder}
          </Button>
        )}
      </div>
    </div>
  );
}

/** An open bag with nothing in it. */
function Drawing() {
  return (
    <svg class="drawing" viewBox="0 0 120 80" aria-hidden="true">
      <path d="M22 34h76l-6 34a6 6 0 0 1-6 5H34a6 6 0 0 1-6-5z" />
      <path d="M44 34c0-12 6-20 16-20s16 8 16 20" />
      <path class="faint" d="M40 46l2 16M60 46v16M80 46l-2 16" />
      <path class="faint" d="M12 22l6 4M108 22l-6 4M60 2v5" />
    </svg>
  );
}

export function NoMatch() {
  const { folder } = usePage();
  const { text } = useLanguage();
  return (
    <div class="state">
      <p>{text.folder.noMatch({ filter: folder.filter.value })}</p>
      <Button
        onClick={() => {
          folder.filter.value = '';
        }}
      >
        {text.shell.clearFilter}
      </Button>
    </div>
  );
}

/** Why the folder is not shown, and what to do next. */
export function FolderProblem() {
  const { folder, location, account } = usePage();
  const { text } = useLanguage();
  const problem = folder.problem.value;
  const path = folder.path.value;
  const way = account?.canSignIn ? wayOn(problem, account.name.value) : undefined;
  return (
    <div class="state" role="alert">
      <p class="title">{problem ? problemTitle(problem, text) : text.problems.unreachable}</p>
      {problem && !isTitleEnough(problem) && <ProblemDetail problem={problem} />}
      <div class="buttons">
        {way && (
          <Button kind="primary" onClick={() => void account?.ask({ isAnew: way === 'signInAs' })}>
            {text.account[way]}
          </Button>
        )}
        {way !== 'signIn' && (
          <Button kind={way ? 'plain' : 'primary'} icon="refresh" onClick={() => void folder.refresh()}>
            {text.controls.retry}
          </Button>
        )}
        {path !== ROOT && (
          <Button icon="arrow-up" onClick={() => location.openFolder(parentOf(path))}>
            {text.problems.goUp}
          </Button>
        )}
        {parentOf(path) !== ROOT && <Button onClick={() => location.openFolder(ROOT)}>{text.problems.goHome}</Button>}
      </div>
    </div>
  );
}

/** What signing in is called, where that may help. */
function wayOn(problem: ServiceError | null, name: string | null): 'signIn' | 'signInAs' | undefined {
  if (problem?.isSignInRequired) return 'signIn';
  return problem?.isPermissionDenied && name !== null ? 'signInAs' : undefined;
}

/** The reason in full. Its text loads when it is needed. */
function ProblemDetail({ problem }: { problem: ServiceError }) {
  const { language } = usePage();
  const loaded = useLoaded(async () => {
    const full = await completeLanguage(language);
    return () => full.value.reasonOf(problem);
  }, [problem]);
  return <p class="detail">{loaded.state === 'ready' && loaded.value()}</p>;
}

/** Where there are so many entries that reading all of them is for a person to decide. */
export function MoreEntries() {
  const { folder } = usePage();
  const { text } = useLanguage();
  if (folder.listing.value !== 'paused') return null;
  return (
    <div class="more-entries" role="status">
      <span>{text.folder.paused({ count: folder.count.value })}</span>
      <Button onClick={() => folder.readOn()}>{text.folder.readOn}</Button>
    </div>
  );
}
