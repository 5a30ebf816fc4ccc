//! Ansible's collection `community.proxysql` against the administrative interface.

use std::path::Path;
use std::time::Duration;

use lab::RunDir;
use live::{Program, Proxy, skip};

#[test]
fn ansible_manages_everything_and_finds_nothing_to_change_the_second_time() {
    let Some(management) = live::management() else {
        return skip("the collection community.proxysql", "Ansible cannot be installed here");
    };
    let dir = RunDir::create().expect("a directory");
    let stored = ["--datadir".into(), dir.path().join("data").into()];
    let proxy = Proxy::start_with(&stored, |interfaces| {
        format!("[mysql_variables]\ninterfaces = \"{interfaces}\"\nserver_version = \"8.0.11\"\n")
    });
    let proxy = proxy.expect("tidegate starts");
    let port = proxy.admin_port;
    let playbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("management/modules.yml");
    let python = management.join("bin/python");
    let done = Program::new(management.join("bin/ansible-playbook"))
        .args(["-i".into(), "localhost,".into(), playbook.into_os_string()])
        .args(["-e", &format!("port={port} ansible_python_interpreter={}", python.display())])
        .env("ANSIBLE_COLLECTIONS_PATH", management.join("collections"))
        .env("ANSIBLE_HOME", dir.path())
        .env("ANSIBLE_LOCAL_TEMP", dir.path())
        .env("ANSIBLE_REMOTE_TEMP", dir.path())
        .env("ANSIBLE_NOCOLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .limit(Duration::from_secs(300))
        .run();
    assert!(done.success, "{}\n{}\n{}", done.output, done.errors, proxy.log());
    assert!(done.output.contains("failed=0"), "{}", done.output);
}
