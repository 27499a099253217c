//! TLS, by the crate `rustls`.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, StreamOwned,
};

use super::{Encryption, Verification, refused};

/// An encrypted connection.
pub type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// Verifies certificates less strictly than `rustls` does.
#[derive(Debug)]
struct Verifier {
    /// The verifier of authorities; without one, every certificate is accepted.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is compared last, when the signatures are known to be right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Encrypts a connection and verifies the server.
pub fn encrypt(
    mut stream: TcpStream,
    host: &str,
    encryption: &Encryption,
) -> io::Result<Encrypted> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| refused(format!("TLS: `{host}` is no name of a host")))?;
    let config = config(encryption).map_err(|problem| refused(format!("TLS: {problem}")))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut stream) {
            return Err(match error.kind() {
                io::ErrorKind::InvalidData => refused(format!("TLS: {error}")),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => refused(
                    "TLS: the server does not answer; does it expect TLS on this port?".to_owned(),
                ),
                _ => error,
            });
        }
    }
    Ok(StreamOwned::new(connection, stream))
}

fn config(encryption: &Encryption) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let authorities = match encryption.verification {
        Verification::None => None,
        Verification::Authority | Verification::Host => {
            let roots = Arc::new(authorities(encryption.authorities.as_deref())?);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            Some(verifier.build().map_err(|error| error.to_string())?)
        }
    };
    Ok(match (encryption.verification, authorities) {
        (Verification::Host, Some(verifier)) => builder.with_webpki_verifier(verifier),
        (_, authorities) => {
            let verifier = Verifier {
                authorities,
                provider,
            };
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
    }
    .with_no_client_auth())
}

/// Returns the certificates of a file, or those of the system.
fn authorities(file: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        return match added {
            0 => Err("the system has no certificates of authorities; name a file".to_owned()),
            _ => Ok(roots),
        };
    };
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string());
    let certificates = certificates.map_err(|error| format!("{file}: {error}"))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| format!("{file}: {error}"))?;
        let added = roots.add(certificate);
        added.map_err(|error| format!("{file}: {error}"))?;
    }
    match roots.is_empty() {
        true => Err(format!("{file} contains no certificate")),
        false => Ok(roots),
    }
}
