import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { useEffect, useState } from 'preact/hooks';
import type { SessionResponse } from '../ports.js';
import { callApi, keepCsrf } from './call-api.js';
import { type Route, useRoute } from './hooks.js';
import { Audit } from './pages/audit.js';
import { Evidence } from './pages/evidence.js';
import { Flows } from './pages/flows.js';
import { Keys } from './pages/keys.js';
import { Overview } from './pages/overview.js';
import { Plan } from './pages/plan.js';
import { forgetDraft, Playground } from './pages/playground.js';
import { Record } from './pages/record.js';
import { Review } from './pages/review.js';
import { RulePage, Rules } from './pages/rules.js';
import { Run } from './pages/run.js';
import { Settings } from './pages/settings.js';
import { Invitation, SignIn } from './pages/sign-in.js';
import { Tuning } from './pages/tuning.js';
import { Banner } from './parts/banner.js';
import { Button } from './parts/basics.js';
import { forgetList } from './record-list.js';

const PAGES = [
  ['', 'Overview'],
  ['evidence', 'Evidence'],
  ['review', 'Review'],
  ['rules', 'Rules'],
  ['tuning', 'Tuning'],
  ['playground', 'Playground'],
  ['keys', 'Keys'],
  ['plan', 'Plan'],
  ['settings', 'Settings'],
] as const;

function App() {
  const route = useRoute();
  const [session, setSession] = useState<SessionResponse>();
  const [failed, setFailed] = useState(false);
  const [ended, setEnded] = useState(false);
  const accept = (response: SessionResponse): void => {
    keepCsrf(response.csrf);
    setSession(response);
    if (response.member !== null) setEnded(false);
  };
  useEffect(() => {
    const ask = (): void => {
      callApi<SessionResponse>('GET', '/session').then(accept, () => setFailed(true));
    };
    const askAgain = (): void => {
      setEnded(true);
      ask();
    };
    ask();
    window.addEventListener('signed-out', askAgain);
    return () => window.removeEventListener('signed-out', askAgain);
  }, []);

  if (failed)
    return (
      <p class="waiting" role="alert">
        The service cannot be reached. Reload the page.
      </p>
    );
  if (session === undefined)
    return (
      <p class="waiting" role="status">
        Loading …
      </p>
    );
  const [section, token] = route.path.split('/');
  if (section === 'invitation') return <Invitation key={token} token={token ?? ''} onSession={accept} />;
  if (session.member === null)
    return <SignIn signUp={session.signUp} wantsUp={route.path === 'sign-up'} ended={ended} onSession={accept} />;
  return <Shell key={session.member.accountId} route={route} session={session} onSession={accept} />;
}

interface ShellProps {
  readonly route: Route;
  readonly session: SessionResponse;
  readonly onSession: (response: SessionResponse) => void;
}

function Shell({ route, session, onSession }: ShellProps) {
  const section = route.path.split('/')[0] ?? '';
  const title = section === 'audit' ? 'Audit' : (PAGES.find(([path]) => path === section)?.[1] ?? 'Overview');
  useEffect(() => {
    document.title = `${title} · Portcullis`;
  }, [title]);
  useEffect(() => {
    // A screen reader starts at the new page's heading.
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [route.path]);
  // The list belongs to this account's session.
  useEffect(() => forgetList, []);
  return (
    <div class="shell">
      <Button class="skip" onClick={() => document.querySelector<HTMLElement>('h1')?.focus()}>
        Skip to the page
      </Button>
      <Header section={section} session={session} onSession={onSession} />
      <main id="main">
        <Banner path={route.path} />
        <Page route={route} session={session} onSession={onSession} />
      </main>
    </div>
  );
}

function Header({ section, session, onSession }: Omit<ShellProps, 'route'> & { readonly section: string }) {
  const { member, accounts } = session;
  const replaceSession = (asked: Promise<SessionResponse>, leave: () => void): void => {
    asked.then(
      (response) => {
        leave();
        onSession(response);
      },
      () => location.reload(),
    );
  };
  const signOut = (): void => replaceSession(callApi('POST', '/sign-out', {}), forgetDraft);
  const go = (accountId: string): void =>
    replaceSession(callApi('PUT', '/session/account', { accountId }), () => {
      location.hash = '#/';
    });
  return (
    <header class="top">
      <a class="brand" href="#/">
        <span class="gate" aria-hidden="true" />
        Portcullis
      </a>
      <nav aria-label="Pages">
        {PAGES.map(([path, words]) => (
          <a key={path} href={`#/${path}`} aria-current={section === path ? 'page' : undefined}>
            {words}
          </a>
        ))}
        {member?.role === 'owner' ? (
          <a href="#/audit" aria-current={section === 'audit' ? 'page' : undefined}>
            Audit
          </a>
        ) : null}
        <a href="/docs">API</a>
      </nav>
      <div class="who">
        {accounts.length < 2 ? null : (
          <select aria-label="Account" value={member?.accountId} onChange={(event) => go(event.currentTarget.value)}>
            {accounts.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        <span class="email" title={member?.email}>
          {member?.email}
        </span>
        <span class="badge role">{member?.role}</span>
        <Button onClick={signOut}>Sign out</Button>
      </div>
    </header>
  );
}

function Page({ route, session, onSession }: ShellProps) {
  const role = session.member?.role ?? 'viewer';
  const owner = role === 'owner';
  const marks = role !== 'viewer';
  const [section, id, part] = route.path.split('/');
  switch (section) {
    case 'evidence':
      if (id === 'flows') return <Flows owner={owner} />;
      if (id === 'run') return <Run key={part} id={decodeURIComponent(part ?? '')} />;
      return id === undefined ? <Evidence query={route.query} /> : <Record key={id} id={id} marks={marks} />;
    case 'playground':
      return <Playground />;
    case 'review':
      return <Review marks={marks} />;
    case 'rules':
      return id === undefined ? <Rules /> : <RulePage key={id} id={decodeURIComponent(id)} />;
    case 'tuning':
      return <Tuning role={role} query={route.query} />;
    case 'keys':
      return <Keys owner={owner} />;
    case 'plan':
      return <Plan owner={owner} paid={route.query.has('paid')} />;
    case 'audit':
      return <Audit />;
    case 'settings':
      return <Settings session={session} onSession={onSession} />;
    default:
      return <Overview />;
  }
}

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
