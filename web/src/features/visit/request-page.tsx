import { useEffect } from 'preact/hooks';
import type { VisitorLink } from '../../../../src/http/schemas.ts';
import { canRetry } from '../../model/uploads/upload-item.ts';
import type { UploadModel } from '../../model/uploads/upload-model.ts';
import { activeDetails, activeTitle, uploadResult } from '../../model/uploads/upload-texts.ts';
import type { Visit } from '../../model/visit/visit.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import mark from '../../ui/mark.svg';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { usePaste } from '../actions/paste.ts';
import { useDragging } from '../dragging/dragging.ts';
import { LazyDropHint } from '../dragging/lazy-drop-hint.tsx';
import { Name } from '../folder/entry-parts.tsx';
import { usePermissions, useUploads, useVisit } from '../models.ts';
import { SettingsButton } from '../toolbar/top-bar.tsx';
import { UploadList } from '../tray/upload-list.tsx';
import '../tray/tray.css';
import { Frame } from './frame.tsx';
import { SenderField } from './sender-field.tsx';
import './visit.css';

/** The page of a file request: it receives files, and shows nothing of the folder. */
export function RequestPage() {
  const visit = useVisit();
  const uploads = useUploads().model.value;
  usePaste();
  const link = visit?.link.value;
  if (!visit || !link) return null;
  return (
    <Frame>
      <div class="visit-page request-page">
        <header class="visit-bar">
          <img class="mark" src={mark} alt="Holdall" draggable={false} />
          <SettingsButton />
        </header>
        <main>
          <Heading link={link} />
          <Receiver visit={visit} link={link} />
          {uploads && <Uploads visit={visit} uploads={uploads} />}
        </main>
      </div>
      <LazyDropHint />
    </Frame>
  );
}

function Heading({ link: { label, name } }: { link: VisitorLink }) {
  const { text } = useFullLanguage();
  const title = name === '' ? text.actions.upload : text.visit.requestTitle({ name });
  return (
    <div class="heading">
      <h1>{label ? <Name of={label} /> : title}</h1>
      <p>{text.visit.requestHint}</p>
    </div>
  );
}

/** The area for files, or the reason why the link accepts no files. */
function Receiver({ visit, link }: { visit: Visit; link: VisitorLink }) {
  const { text } = useFullLanguage();
  const { ended, endedHint, uploadsUsed, uploadsUsedHint } = text.visit;
  // A link that allows nothing more has ended too.
  if (link.uploadsLeft === 0) return <Closed icon="check" title={uploadsUsed} hint={uploadsUsedHint} />;
  if (visit.hasEnded.value) return <Closed icon="warning" title={ended} hint={endedHint} />;
  return (
    <>
      {link.askSender && <SenderField />}
      <DropZone visit={visit} link={link} />
    </>
  );
}

function Closed({ icon, title, hint }: { icon: IconName; title: string; hint: string }) {
  return (
    <div class="closed" role="alert">
      <Icon name={icon} />
      <p class="title">{title}</p>
      <p>{hint}</p>
    </div>
  );
}

function DropZone({ visit, link }: { visit: Visit; link: VisitorLink }) {
  const uploads = useUploads();
  const dragging = useDragging();
  const { text, formats } = useFullLanguage();
  const { maxUploadBytes } = link;
  const limits = [
    maxUploadBytes === undefined ? '' : text.visit.maxSize({ size: formats.size(maxUploadBytes) }),
    visit.conditions.value,
  ].filter((limit) => limit !== '');
  return (
    <div class={`drop-zone ${dragging.kind.value === 'files' ? 'target' : ''}`}>
      <Icon name="upload" />
      <p class="hint">{text.visit.drop}</p>
      <div class="buttons">
        <Button kind="primary" onClick={() => uploads.pick('files')}>
          {text.visit.chooseFiles}
        </Button>
        <Button onClick={() => uploads.pick('folder')}>{text.visit.chooseFolder}</Button>
      </div>
      {limits.length > 0 && <p class="limits numbers">{limits.join(' · ')}</p>}
    </div>
  );
}

/** The progress of all files, and the state of each one. */
function Uploads({ visit, uploads }: { visit: Visit; uploads: UploadModel }) {
  const isBusy = uploads.isBusy.value;
  const count = uploads.items.value.length;
  // Other visitors can upload at the same time.
  useEffect(() => {
    const { uploadsLeft = 0 } = visit.link.peek() ?? {};
    if (!isBusy && count > 0 && uploadsLeft > 0 && !visit.hasEnded.peek()) void visit.refresh().catch(() => {});
  }, [isBusy]);
  if (count === 0 && uploads.filesFound.value === null) return null;
  return (
    <section class="request-uploads" aria-labelledby="request-uploads-title">
      <header>
        <Status uploads={uploads} />
        <UploadsButton uploads={uploads} />
      </header>
      {isBusy && <Progress uploads={uploads} />}
      {count > 0 && <UploadList uploads={uploads} />}
    </section>
  );
}

function Progress({ uploads }: { uploads: UploadModel }) {
  const { text } = useFullLanguage();
  return <ProgressBar label={text.uploads.progress} part={uploads.summary.value.part} />;
}

function Status({ uploads }: { uploads: UploadModel }) {
  const { text, formats } = useFullLanguage();
  const summary = uploads.summary.value;
  const isComplete = !uploads.isBusy.value && uploads.filesFound.value === null;
  const isSuccess = isComplete && summary.count.failed === 0 && summary.filesDone > 0;
  const [title = '', ...details] = titleOf();
  return (
    <div class={`status ${isSuccess ? 'success' : ''}`}>
      {isComplete && <Icon name={isSuccess ? 'check' : 'warning'} />}
      <div>
        <h2 id="request-uploads-title">{title}</h2>
        <p class="numbers">{isSuccess ? text.visit.doneHint : details.join(' · ')}</p>
      </div>
    </div>
  );

  function titleOf(): readonly string[] {
    if (uploads.isBusy.value) {
      const active = uploads.isOnline.value ? activeDetails(summary, text, formats) : [text.uploads.offline];
      return [activeTitle(summary, text), ...active];
    }
    if (uploads.filesFound.value !== null) return [text.uploads.reading({ count: uploads.filesFound.value })];
    return uploadResult(summary, text);
  }
}

/** Cancels the uploads in progress, or retries those that failed. */
function UploadsButton({ uploads }: { uploads: UploadModel }) {
  const permissions = usePermissions();
  const { text } = useFullLanguage();
  // Changes with the state of any item.
  void uploads.summary.value;
  if (uploads.isBusy.value) return <Button onClick={uploads.cancelAll}>{text.uploads.cancelAll}</Button>;
  const failed = uploads.items.value.filter((item) => item.state.value === 'failed' && canRetry(item, permissions));
  if (failed.length === 0) return null;
  return <Button onClick={uploads.retryAll}>{text.uploads.retryAll({ count: failed.length })}</Button>;
}
