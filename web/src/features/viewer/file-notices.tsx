import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Visit } from '../../model/visit/visit.ts';
import { StoreAccessError } from '../../platform/service/content.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { type FullLanguage, useFullLanguage, useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { Thumbnail } from '../folder/thumbnail.tsx';
import { TypeName } from '../folder/type-name.tsx';
import { useAccount, useFolder, usePermissions, useRouter, useService, useVisit } from '../models.ts';
import { useDownloadLink } from './download-link.ts';
import { Loading, Notice } from './notices.tsx';

/**
 * Placeholder for a file that the listing does not contain: the listing is incomplete, or the file does not exist.
 */
export function PendingFile() {
  const folder = useFolder();
  const permissions = usePermissions();
  const language = useFullLanguage();
  const { text } = language;
  const problem = folder.problem.value;
  if (problem && !problem.isNotFound) {
    const actions = <Button onClick={() => void folder.refresh()}>{text.controls.retry}</Button>;
    return (
      <Notice icon={<Icon name="warning" />} title={text.previews.openFailed} actions={actions} isAlert>
        {language.reasonOf(problem)}
      </Notice>
    );
  }
  if (folder.state.value === 'ready' && !permissions.allows('read')) {
    const title = permissions.allows('write') ? text.folder.uploadOnly : text.folder.nothingToSee;
    return <Notice icon={<Icon name="file" />} title={title} actions={<BackToFolder />} isAlert />;
  }
  if (folder.state.value === 'failed' || folder.listing.value === 'complete') return <MissingFile />;
  if (folder.listing.value === 'partial') return <Loading />;
  const actions = <Button onClick={() => folder.loadMore()}>{text.previews.loadMore}</Button>;
  return <Notice icon={<Icon name="search" />} title={text.previews.notLoaded} actions={actions} />;
}

/** Reports that the file does not exist, and leads back to its folder, unless only the file is shared with a visitor. */
export function MissingFile() {
  const visit = useVisit();
  const { text } = useFullLanguage();
  const actions = visit?.kind === 'file' ? undefined : <BackToFolder />;
  return (
    <Notice icon={<Icon name="file" />} title={text.previews.missing} actions={actions} isAlert>
      {text.previews.missingHint}
    </Notice>
  );
}

function BackToFolder() {
  const router = useRouter();
  const { text } = useFullLanguage();
  return <Button onClick={() => router.closePreview()}>{text.previews.backToFolder}</Button>;
}

interface NoPreviewProps {
  entry: FileEntry;
  /** The title: the reason why there is no preview. */
  reason?: string;
  hint?: string | undefined;
  /** A button next to the download. */
  action?: ComponentChild;
  /** Default: true. */
  canDownload?: boolean;
}

/** The details, thumbnail and download button of a file without a preview. */
export function NoPreview({ entry, reason, hint, action, canDownload = true }: NoPreviewProps) {
  const { text, formats } = useFullLanguage();
  const title = reason ?? (entry.size === 0 ? text.previews.empty : text.previews.noPreview);
  const actions = (
    <>
      {canDownload && <DownloadLink entry={entry} isPrimary />}
      {action}
    </>
  );
  return (
    <Notice icon={<Thumbnail entry={entry} />} title={title} actions={actions}>
      {hint !== undefined && <p>{hint}</p>}
      <p class="numbers">
        <TypeName entry={entry} /> · {formats.size(entry.size)}
      </p>
    </Notice>
  );
}

/** Shows a file to a visitor without requesting its content, because that would count as a download. */
export function CountedFile({ visit, entry }: { visit: Visit; entry: FileEntry }) {
  const { text } = useFullLanguage();
  const count = visit.link.value?.downloadsLeft ?? 0;
  if (count > 0) {
    return <NoPreview entry={entry} reason={text.visit.downloadsLeft({ count })} hint={text.visit.countedHint} />;
  }
  const { downloadsUsed, downloadsUsedHint } = text.visit;
  return <NoPreview entry={entry} reason={downloadsUsed} hint={downloadsUsedHint} canDownload={false} />;
}

interface FailedElementProps {
  entry: FileEntry;
  /** The title if the service would return the file. */
  reason: string;
  hint?: string | undefined;
  onRetry: () => void;
}

/**
 * Replaces an image or a video that failed to load. Browsers don't report the reason, so the service is asked for it.
 */
export function FailedElement({ entry, reason, hint, onRetry }: FailedElementProps) {
  const service = useService();
  const account = useAccount();
  const signIns = account?.signInCount.value ?? 0;
  const [before] = useState(signIns);
  // After the user signs in, the file might be readable.
  useEffect(() => {
    if (signIns !== before) onRetry();
  }, [signIns]);
  const checked = useLoaded((signal) => service.check(entry.path, signal));
  if (checked.state === 'loading') return <Loading />;
  if (checked.state === 'failed') return <ContentProblem entry={entry} error={checked.error} onRetry={onRetry} />;
  return <NoPreview entry={entry} reason={reason} hint={hint} />;
}

/** Explains why a file could not be read, and offers to download it or to retry. */
export function ContentProblem({ entry, error, onRetry }: { entry: FileEntry; error: Error; onRetry: () => void }) {
  const language = useFullLanguage();
  const { text } = language;
  if (error instanceof ServiceError && error.isNotFound) return <MissingFile />;
  const { title, more } = describe(error, language);
  const actions = (
    <>
      <DownloadLink entry={entry} />
      <Button kind="primary" onClick={onRetry}>
        {text.controls.retry}
      </Button>
    </>
  );
  return (
    <Notice icon={<Icon name="warning" />} title={title} actions={actions} isAlert>
      {more}
    </Notice>
  );
}

function describe(error: Error, language: FullLanguage): { title: string; more: string } {
  const { errors, previews, problems } = language.text;
  if (error instanceof StoreAccessError) return { title: previews.storeFailed, more: previews.storeFailedHint };
  if (!(error instanceof ServiceError)) return { title: previews.openFailed, more: errors['invalid-request'] };
  if (error.status === 0) return { title: problems.unreachable, more: previews.unreachableHint };
  return { title: previews.openFailed, more: language.reasonOf(error) };
}

/** A link that downloads a file. As a link, it has the browser's menu for links. */
export function DownloadLink({ entry, isPrimary = false }: { entry: FileEntry; isPrimary?: boolean }) {
  const { text } = useLanguage();
  return (
    <a class={`button ${isPrimary ? 'primary' : 'plain'}`} {...useDownloadLink(entry)}>
      <Icon name="download" />
      <span>{text.actions.download}</span>
    </a>
  );
}
